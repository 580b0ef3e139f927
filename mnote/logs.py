"""Structured logs: one JSON object a line, with the request or job it belongs to; never a body, secret or full path."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from mnote.middleware import request_id

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_facts: ContextVar[dict[str, str]] = ContextVar("log_facts", default={})  # noqa: B039 never changed in place

_CODE_FILE = re.compile(r'File "/[^"\n]*?((?:/[^/"\n]+){1,3})", line')
_QUOTED_PATH = re.compile(r"""(['"])/[^'"\n]*\1""")
_BARE_PATH = re.compile(r"(?<![\w.:/…-])/(?:[^\s'\":,;()/]+/)+[^\s'\":,;()]*")
_URL_PASSWORD = re.compile(r"(\w+://)[^\s/@]+@")
_TOKEN = re.compile(r"\bmnt_[A-Za-z0-9_-]+|\b[Bb]earer\s+[^\s'\"]+|\bsk-[A-Za-z0-9_-]{8,}")


@contextmanager
def log_facts(**facts: str) -> Iterator[None]:
    """Add these facts to every line logged inside the block, in this thread or task."""
    token = _facts.set(_facts.get() | facts)
    try:
        yield
    finally:
        _facts.reset(token)


class JSONFormatter(logging.Formatter):
    """Format a record as JSON: time, level, logger, message, request_id, and whatever was passed as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        if value := request_id.get():
            entry["request_id"] = value
        entry |= _facts.get()
        entry |= {
            key: _plain(value) for key, value in vars(record).items() if key not in _STANDARD and _is_plain(value)
        }
        if record.exc_info:
            entry["traceback"] = redact(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=False, default=str)


def redact(text: str) -> str:
    """Take full paths, passwords in URLs and tokens out of a text. Code files keep their last three parts."""
    text = _CODE_FILE.sub(r'File "…\1", line', text)
    text = _QUOTED_PATH.sub(r"\1…\1", text)
    text = _BARE_PATH.sub("…", text)
    return _TOKEN.sub("…", _URL_PASSWORD.sub(r"\1…@", text))


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool | None)


def _plain(value: object) -> object:
    return redact(value) if isinstance(value, str) else value
