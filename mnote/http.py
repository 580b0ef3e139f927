"""The one door through which HTTP requests leave: with a deadline, a size limit, and nothing secret in logs or errors.

`build_client` is for services that the operator configured and that may be on a private network. `fetch` is for
addresses that a person typed: see `mnote.outbound`.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import IO, Any
from urllib.parse import urljoin

import requests
import requests.adapters
import urllib3
from django.conf import settings
from django.db import connections
from requests.structures import CaseInsensitiveDict

from mnote.http_limits import AnswerTooLarge, Limits, TimedOut, Timeouts, TooManyRedirects, Unreachable
from mnote.middleware import request_id
from mnote.outbound import AddressRefused, OutboundPolicy, Target, validate_outbound

logger = logging.getLogger(__name__)

_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_TRY_AGAIN = frozenset({429, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BLOCK = 16 * 1024

Body = bytes | Iterable[bytes] | IO[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    milliseconds: int

    @property
    def is_ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Return the body as JSON. Raises ValueError."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `is_idempotent` says whether it may be repeated when in doubt; None decides by the method."""

    method: str
    url: str
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    body: Body | None = None
    files: Any = None
    data: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_idempotent: bool | None = None

    @property
    def may_repeat(self) -> bool:
        return self.method in _IDEMPOTENT if self.is_idempotent is None else self.is_idempotent


class Client:
    """A connection to one service; safe to use from several threads. Made by `build_client`."""

    def __init__(
        self,
        *,
        base_url: str,
        role: str,
        timeouts: Timeouts,
        headers: Mapping[str, str],
        max_bytes: int,
        tries: int,
        verify: bool | str,
    ) -> None:
        self.role = role
        self._base_url = base_url.rstrip("/")
        self._timeouts = timeouts
        self._headers = dict(headers)
        self._max_bytes = max_bytes
        self._tries = tries
        self._verify = verify
        self._local = threading.local()

    def request(
        self,
        method: str,
        path: str,
        *,
        timeouts: Timeouts | None = None,
        max_bytes: int | None = None,
        **parts: Any,
    ) -> Answer:
        """Make one call; `parts` are the fields of `Call`. Redirects are answers, not followed.

        Raises:
            Unreachable, TimedOut, AnswerTooLarge: no usable answer.
            RuntimeError: a database transaction is open.
        """
        refuse_inside_transaction()
        call = Call(method=method.upper(), url=f"{self._base_url}/{path.lstrip('/')}", **parts)
        limits = Limits(timeouts or self._timeouts, max_bytes or self._max_bytes)
        for tries_left in range(self._tries - 1 if call.may_repeat else 0, -1, -1):
            answer = self._attempt(call, limits, is_last=not tries_left)
            if answer is not None:
                return answer
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close the connections of this thread."""
        if hasattr(self._local, "session"):
            self._local.session.close()
            del self._local.session

    def _attempt(self, call: Call, limits: Limits, *, is_last: bool) -> Answer | None:
        """Ask once. None means: ask again, the pause is over."""
        try:
            answer = _send(self._session(), call, limits, self.role, headers=self._headers, verify=self._verify)
        except Unreachable:
            if is_last or not limits.pause(None):
                raise
            return None
        if is_last or answer.status not in _TRY_AGAIN:
            return answer
        return None if limits.pause(answer.headers.get("Retry-After")) else answer

    def _session(self) -> requests.Session:
        if not hasattr(self._local, "session"):
            self._local.session = _new_session(requests.adapters.HTTPAdapter(pool_connections=2, pool_maxsize=4))
        session: requests.Session = self._local.session
        return session


def build_client(
    base_url: str,
    *,
    role: str,
    timeouts: Timeouts,
    headers: Mapping[str, str] | None = None,
    max_bytes: int = 32 * 1024 * 1024,
    tries: int = 3,
    verify: bool | str = True,
) -> Client:
    """Make a client of a service that the operator configured. `role` names it in logs and errors; `headers` go along
    with every call and are never logged. `verify` may be the path of a CA bundle."""
    return Client(
        base_url=base_url,
        role=role,
        timeouts=timeouts,
        headers=headers or {},
        max_bytes=max_bytes,
        tries=tries,
        verify=verify,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """An answer and the address that gave it, after all redirects."""

    answer: Answer
    url: str


def fetch(
    url: str,
    *,
    role: str,
    timeouts: Timeouts,
    max_bytes: int,
    policy: OutboundPolicy,
    headers: Mapping[str, str] | None = None,
    max_redirects: int = 5,
) -> Fetched:
    """Get an address that a person gave. Every hop is checked anew, and connected to the IP that was checked.

    Raises:
        AddressRefused: this or a following address must not be asked.
        Unreachable, TimedOut, AnswerTooLarge, TooManyRedirects: no usable answer.
        RuntimeError: a database transaction is open.
    """
    refuse_inside_transaction()
    limits = Limits(timeouts, max_bytes)
    for _hop in range(max_redirects + 1):
        target = validate_outbound(url, policy)
        answer = _fetch_once(target, limits, role, headers or {})
        location = answer.headers.get("Location")
        if answer.status not in _REDIRECTS or not location:
            return Fetched(answer=answer, url=url)
        url = _next_url(url, location)
    raise TooManyRedirects(f"{role}: too many redirects")


def refuse_inside_transaction() -> None:
    """Raise RuntimeError while a database transaction is open: a slow server must not hold the database's lock."""
    for connection in connections.all(initialized_only=True):
        if any(not getattr(block, "_from_testcase", False) for block in connection.atomic_blocks):
            raise RuntimeError("no HTTP call may be made inside a database transaction")


class _PinnedAdapter(requests.adapters.HTTPAdapter):
    """Connects to the checked IP, while name, certificate and Host header stay those of the address."""

    def __init__(self, target: Target) -> None:
        self._target = target
        super().__init__(pool_connections=1, pool_maxsize=1)

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: Any, cert: Any = None
    ) -> tuple[Any, Any]:
        host, pool = super().build_connection_pool_key_attributes(request, verify, cert)
        if self._target.scheme == "https":
            names = {"server_hostname": self._target.host, "assert_hostname": self._target.host}
            return {**host, "host": self._target.address}, {**pool, **names}
        return {**host, "host": self._target.address}, pool


def _fetch_once(target: Target, limits: Limits, role: str, headers: Mapping[str, str]) -> Answer:
    with _new_session(_PinnedAdapter(target)) as session:
        call = Call(method="GET", url=target.url, headers={**headers, "Host": target.host_header})
        return _send(session, call, limits, role, headers={}, verify=True)


def _next_url(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        raise AddressRefused("bad-address") from None


def _new_session(adapter: requests.adapters.HTTPAdapter) -> requests.Session:
    session = requests.Session()
    # No proxy, no .netrc: who is asked, and with which credentials, is decided here alone.
    session.trust_env = False
    session.cookies.set_policy(_NoCookies())
    for prefix in ("http://", "https://"):
        session.mount(prefix, adapter)
    return session


class _NoCookies(DefaultCookiePolicy):
    """Accepts and sends none."""

    def set_ok(self, cookie: Any, request: Any) -> bool:  # noqa: ARG002
        return False


def _send(
    session: requests.Session,
    call: Call,
    limits: Limits,
    role: str,
    *,
    headers: Mapping[str, str],
    verify: bool | str,
) -> Answer:
    started = time.monotonic()
    status: int | str = "failed"
    try:
        prepared = session.prepare_request(_request(call, headers))
        timeout = limits.for_one_try(role)
        with session.send(prepared, stream=True, timeout=timeout, allow_redirects=False, verify=verify) as response:
            body = _read(response, limits, role)
            status = response.status_code
            milliseconds = round((time.monotonic() - started) * 1000)
            plain = CaseInsensitiveDict(response.headers)
            return Answer(status=status, headers=plain, body=body, milliseconds=milliseconds)
    # The original errors name the address, so they are not chained.
    except (requests.Timeout, urllib3.exceptions.TimeoutError):
        raise TimedOut(f"{role}: too slow") from None
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError):
        raise Unreachable(f"{role}: no connection") from None
    finally:
        _log(role, call.method, status, started)


def _request(call: Call, headers: Mapping[str, str]) -> requests.Request:
    own = {"User-Agent": f"mnote/{settings.VERSION}", "X-Request-ID": request_id.get()}
    return requests.Request(
        call.method,
        call.url,
        params=dict(call.params),
        json=call.json,
        data=call.body if call.body is not None else call.data,
        files=call.files,
        headers={name: value for name, value in {**own, **headers, **call.headers}.items() if value},
    )


def _read(response: requests.Response, limits: Limits, role: str) -> bytes:
    """Read the decoded body block by block, within size and time; a server that drips is cut off."""
    body = bytearray()
    while block := response.raw.read1(_BLOCK, decode_content=True):
        body += block
        if len(body) > limits.max_bytes:
            raise AnswerTooLarge(f"{role}: more than {limits.max_bytes} bytes")
        if limits.left <= 0:
            raise TimedOut(f"{role}: no time left")
    return bytes(body)


def _log(role: str, method: str, status: int | str, started: float) -> None:
    milliseconds = round((time.monotonic() - started) * 1000)
    level = logging.DEBUG if isinstance(status, int) and status < 500 else logging.WARNING
    logger.log(level, "%s answered %s", role, status, extra={"method": method, "milliseconds": milliseconds})
