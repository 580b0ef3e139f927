"""A WeKnora server on loopback: a real socket, state, the quirks of the real one, and faults at a test's word."""

from __future__ import annotations

import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.stubs import (
    weknora_documents,
    weknora_kbs,
    weknora_passages,
    weknora_search,
    weknora_system,
    weknora_tags,
    weknora_work,
)
from tests.stubs.weknora_cuts import cut
from tests.stubs.weknora_replies import Ask, Refused, Reply, gate, no_route
from tests.stubs.weknora_world import Key, Model, World

_UNKNOWN_KEY = "Unauthorized: invalid API key"
_NO_RIGHT = "Forbidden: API key scope does not allow this operation"
_ANY = ""

Handler = Callable[[World, Ask], Reply]


def _route(method: str, path: str, right: str, handler: Handler) -> tuple[str, re.Pattern[str], str, Handler]:
    pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)
    return method, re.compile(f"/api/v1{pattern}/?"), right, handler


#: Method, path, the right a key needs (`_ANY`: none), what answers.
ROUTES = [
    _route("GET", "/system/capabilities", _ANY, weknora_system.capabilities),
    _route("GET", "/system/info", "manage_vector_stores", weknora_system.info),
    _route("GET", "/system/parser-engines", "manage_vector_stores", weknora_system.engines),
    _route("GET", "/models/{model}", "manage_models", weknora_system.model),
    _route("GET", "/knowledge-bases", "retrieve", weknora_kbs.list_kbs),
    _route("POST", "/knowledge-bases", "manage_kbs", weknora_kbs.create_kb),
    _route("GET", "/knowledge-bases/{kb}", "retrieve", weknora_kbs.get_kb),
    _route("PUT", "/knowledge-bases/{kb}", "manage_kbs", weknora_kbs.put_kb),
    _route("DELETE", "/knowledge-bases/{kb}", "manage_kbs", weknora_kbs.delete_kb),
    _route("GET", "/initialization/config/{kb}", "retrieve", weknora_kbs.config),
    _route("POST", "/knowledge-bases/{kb}/knowledge/file", "ingest", weknora_documents.upload),
    _route("GET", "/knowledge-bases/{kb}/knowledge", "retrieve", weknora_documents.list_documents),
    _route("POST", "/knowledge-bases/{kb}/hybrid-search", "retrieve", weknora_search.hybrid_search),
    _route("GET", "/knowledge-bases/{kb}/tags", "retrieve", weknora_tags.list_tags),
    _route("POST", "/knowledge-bases/{kb}/tags", "ingest", weknora_tags.create_tag),
    _route("PUT", "/knowledge-bases/{kb}/tags/{tag}", "ingest", weknora_tags.put_tag),
    _route("DELETE", "/knowledge-bases/{kb}/tags/{tag}", "ingest", weknora_tags.delete_tag),
    _route("PUT", "/knowledge/tags", "ingest", weknora_tags.put_documents),
    _route("GET", "/knowledge/batch", "retrieve", weknora_documents.batch),
    _route("GET", "/knowledge/{document}", "retrieve", weknora_documents.get_document),
    _route("DELETE", "/knowledge/{document}", "ingest", weknora_documents.delete),
    _route("GET", "/knowledge/{document}/spans", "retrieve", weknora_passages.trace),
    _route("POST", "/knowledge/{document}/reparse", "ingest", weknora_documents.reparse),
    _route("POST", "/knowledge/{document}/cancel-parse", "ingest", weknora_documents.cancel),
    _route("GET", "/chunks/by-id/{chunk}", "retrieve", weknora_passages.chunk),
    _route("GET", "/chunks/{document}", "retrieve", weknora_passages.chunks),
]


@dataclass(slots=True, kw_only=True)
class Fault:
    """What goes wrong with the next `times` requests that fit `method` and, as a pattern, `path`.

    `reply` is given instead of the real one. `wait`: nothing is answered before the stub is released. `lose`: the
    request is done, its answer never sent. `reset`: the connection is torn down before the body is read. `cut`: the
    answer ends in the middle; with `is_announced` its length says so, without the connection just breaks. `delay`: the
    answer comes so many seconds late.
    """

    method: str = ""
    path: str = ""
    times: int = 1
    reply: Reply | None = None
    wait: bool = False
    lose: bool = False
    reset: bool = False
    cut: bool = False
    is_announced: bool = True
    delay: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that came in."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(slots=True)
class WeKnoraStub:
    """A running stub. `key` is a good key with the rights that are recommended; `model` a working embedding model.

    `weather` may name a fault for any request that no one in `faults` is meant for.
    """

    port: int
    world: World
    key: str
    model: Model
    faults: list[Fault] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    weather: Callable[[str, str], Fault | None] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def misbehave(self, **facts: Any) -> None:
        self.faults.append(Fault(**facts))

    def restart(self) -> None:
        weknora_work.restart(self.world)

    def calls(self, method: str, path: str) -> list[Asked]:
        """Return the requests whose method and, as a pattern, path fit."""
        return [each for each in self.asked if each.method == method and re.search(path, each.target)]

    def fault_for(self, method: str, target: str) -> Fault | None:
        with self.world.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.method in ("", method) and re.search(fault.path, target):
                    fault.times -= 1
                    return fault
            return self.weather(method, target) if self.weather else None

    def answer(self, asked: Asked) -> Reply:
        """Answer as the real server does."""
        with self.world.lock:
            try:
                return _dispatch(self.world, asked)
            except Refused as refused:
                return refused.reply


@contextmanager
def weknora_stub(edition: str = "lite") -> Iterator[WeKnoraStub]:
    """Run a stub on a free port of 127.0.0.1."""
    world = World(cut, edition=edition)
    server = _Server(("127.0.0.1", 0), _RequestHandler)
    stub = WeKnoraStub(port=server.server_address[1], world=world, key=world.add_key(), model=world.add_model())
    server.stub = stub  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _dispatch(world: World, asked: Asked) -> Reply:
    path = asked.target.partition("?")[0]
    ask = Ask(method=asked.method, target=asked.target, headers=asked.headers, body=asked.body, key=Key())
    if path == "/health":
        return weknora_system.health(world, ask)
    key = _key(world, asked.headers)
    for method, pattern, right, handler in ROUTES:
        found = pattern.fullmatch(ask.path)
        if found and method == asked.method:
            if right and right not in key.rights:
                return gate(403, _NO_RIGHT)
            return handler(world, Ask(**{**_facts(ask), "key": key, "parts": found.groupdict()}))
    return no_route()


def _facts(ask: Ask) -> dict[str, Any]:
    return {"method": ask.method, "target": ask.target, "headers": ask.headers, "body": ask.body}


def _key(world: World, headers: Mapping[str, str]) -> Key:
    """Return the key of a request. Raises Refused in the four ways of the server."""
    sent = headers.get("X-API-Key")
    if not sent:
        raise Refused(gate(401, "Unauthorized: missing authentication"))
    key = world.keys.get(sent)
    if key is None:
        raise Refused(gate(401, _UNKNOWN_KEY))
    tenant = headers.get("X-Tenant-ID", "")
    if tenant and not tenant.isdecimal():
        raise Refused(gate(400, "Invalid X-Tenant-ID header"))
    if key.tenant == 0:
        if not tenant:
            text = "Workspace required: platform API keys must send X-Tenant-ID"
            raise Refused(gate(409, text, code="TENANT_REQUIRED"))
        if tenant != "1":
            raise Refused(gate(401, _UNKNOWN_KEY))  # the key is good, the tenant is not
        return Key(tenant=1, rights=key.rights, kb_ids=key.kb_ids)
    if tenant and int(tenant) != key.tenant:
        raise Refused(gate(403, "Forbidden: workspace API key cannot switch workspaces"))
    return key


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that broke off, as one that is killed does."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _RequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Small answers must not wait for the client's acknowledgement of their head.
    wbufsize = -1
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        stub: WeKnoraStub = self.server.stub  # type: ignore[attr-defined]
        fault = stub.fault_for(self.command, self.path) or Fault()
        if fault.reset:
            self._tear_down()
            return
        announced = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(announced)
        asked = Asked(method=self.command, target=self.path, headers=dict(self.headers), body=body)
        stub.asked.append(asked)
        if len(body) < announced:  # whoever asked gave up: a form without its end is none
            self._tear_down()
            return
        if fault.wait or fault.delay:
            stub.released.wait(fault.delay or 30)
        reply = fault.reply or stub.answer(asked)
        if fault.lose:
            self._tear_down()
            return
        self._send(reply, fault, format_datetime(stub.world.now(), usegmt=True))

    def _send(self, reply: Reply, fault: Fault, date: str) -> None:
        body = reply.body[: len(reply.body) // 2] if fault.cut else reply.body
        announced = len(body) if fault.is_announced else len(reply.body)
        with suppress(OSError):
            self.send_response_only(reply.status)
            for name, value in {"Date": date, "Content-Type": reply.content_type, **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(announced))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        if announced != len(body):
            self._tear_down()

    def _tear_down(self) -> None:
        """Break the connection with a reset, not with an end."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.shutdown(socket.SHUT_RD)
            self.connection.close()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = _handle  # noqa: N815 names of http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
