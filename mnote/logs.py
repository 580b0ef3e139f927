"""Structured logs: one JSON object a line, with the request id; never a body, secret or absolute path."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from mnote.middleware import request_id

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JSONFormatter(logging.Formatter):
    """Format a record as JSON: time, level, logger, message, request_id, and whatever was passed as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if value := request_id.get():
            entry["request_id"] = value
        entry |= {key: value for key, value in vars(record).items() if key not in _STANDARD and _is_plain(value)}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool | None)
