"""Requests and answers of a WeKnora stub, in the server's shapes."""

from __future__ import annotations

import email.parser
import email.policy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.stubs.weknora_world import Key

JSON_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    name: str
    body: bytes


class Refused(Exception):
    """An answer that ends the handling of a request."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request. `parts` are the named pieces of its path."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    key: Key
    parts: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    def values(self, name: str) -> list[str]:
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True).get(name, [])

    def value(self, name: str, default: str = "") -> str:
        return next(iter(self.values(name)), default)

    def json(self, message: str = "Invalid request parameters") -> dict[str, Any]:
        """Raises Refused like the server for what is no JSON object."""
        if not self.body:
            raise Refused(failure(400, 1000, message, "EOF"))
        try:
            read = json.loads(self.body)
        except ValueError:
            raise Refused(failure(400, 1000, message, "unexpected EOF")) from None
        if not isinstance(read, dict):
            raise Refused(failure(400, 1000, message, "json: cannot unmarshal array"))
        return read

    def form(self) -> tuple[dict[str, str], FilePart | None]:
        """Return fields and the first file of a multipart body."""
        kind = self.headers.get("Content-Type", "")
        if not kind.startswith("multipart/form-data"):
            return {}, None
        raw = f"Content-Type: {kind}\r\n\r\n".encode() + self.body
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(raw)
        fields: dict[str, str] = {}
        file = None
        for part in message.iter_parts():
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True)
            if part.get_filename() is None:
                fields[str(name)] = content.decode("utf-8", "replace")
            elif name == "file" and file is None:
                file = FilePart(name=part.get_filename(), body=content)
        return fields, file


def reply(body: Any, status: int = 200) -> Reply:
    return Reply(status=status, body=json.dumps(body, ensure_ascii=False).encode())


def success(data: Any, status: int = 200, **more: Any) -> Reply:
    return reply({"data": data, **more, "success": True}, status)


def page(rows: list[Any], *, at: int, size: int) -> Reply:
    return success(rows[(at - 1) * size : at * size], page=at, page_size=size, total=len(rows))


def failure(status: int, code: int, message: str, details: str | None = None) -> Reply:
    return reply({"error": {"code": code, "details": details, "message": message}, "success": False}, status)


def gate(status: int, text: str, **more: Any) -> Reply:
    return reply({**more, "error": text}, status)


def not_found(what: str = "Knowledge") -> Refused:
    text = "knowledge base not found" if what == "kb" else f"{what} not found"
    return Refused(failure(404, 1003, text))


def no_route() -> Reply:
    return Reply(status=404, body=b"404 page not found", content_type="text/plain")


def paging(ask: Ask, *, default: int, most: int = 1000) -> tuple[int, int]:
    """Return page and size. Zero counts as absent, more than 1000 and below zero are refused."""
    at, size = _number(ask, "page"), _number(ask, "page_size")
    for name, number, rule in (("Page", at, "min"), ("PageSize", size, "min")):
        if number < 0:
            raise Refused(failure(400, 1000, _invalid(name, rule)))
    if size > 1000:
        raise Refused(failure(400, 1000, _invalid("PageSize", "max")))
    return at or 1, min(size or default, most)


def _number(ask: Ask, name: str) -> int:
    raw = ask.value(name, "0")
    try:
        return int(raw)
    except ValueError:
        raise Refused(failure(400, 1000, f'strconv.ParseInt: parsing "{raw}": invalid syntax')) from None


def _invalid(name: str, rule: str) -> str:
    return f"Key: 'Pagination.{name}' Error:Field validation for '{name}' failed on the '{rule}' tag"
