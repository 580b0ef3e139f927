"""OpenHub's and opencode's streams, read as they come: the one place where requests leave without waiting threads."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from pageai.panel.connection import Endpoint
from pageai.panel.errors import PanelUnavailable

_CONNECT_SECONDS = 5.0
_MAX_ERROR_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `headers` are complete: nothing is added to them."""

    method: str
    url: str
    headers: Mapping[str, str]
    params: Mapping[str, str] = field(default_factory=dict)
    json: Any = None


class Stream:
    """An answer whose head has come."""

    def __init__(self, response: httpx2.Response, layer: str) -> None:
        self._response = response
        self._layer = layer
        self.status = response.status_code
        self.headers: Mapping[str, str] = dict(response.headers)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they come. Raises PanelUnavailable when it breaks off or falls silent."""
        try:
            async for piece in self._response.aiter_raw():
                yield piece
        except httpx2.HTTPError:
            raise PanelUnavailable(layer=self._layer, reason="the stream broke off") from None

    async def error(self) -> Mapping[str, Any]:
        """Read a refusal, as far as it is a JSON object of sensible size."""
        body = bytearray()
        async for piece in self.pieces():
            body += piece
            if len(body) > _MAX_ERROR_BYTES:
                return {}
        try:
            found = json.loads(bytes(body))
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


@asynccontextmanager
async def open_stream(call: Call, *, layer: str, silence_seconds: float) -> AsyncIterator[Stream]:
    """Ask once and give the answer; leaving the block ends the connection. Nothing is ever asked twice.

    Raises:
        PanelUnavailable: no connection, or no answer in time.
    """
    limits = httpx2.Timeout(silence_seconds, connect=_CONNECT_SECONDS, pool=_CONNECT_SECONDS)
    transport = httpx2.AsyncHTTPTransport(retries=0)
    async with httpx2.AsyncClient(
        timeout=limits, transport=transport, trust_env=False, follow_redirects=False
    ) as client:
        request = client.build_request(
            call.method, call.url, headers=dict(call.headers), params=dict(call.params), json=call.json
        )
        try:
            response = await client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL):
            # The original error may name the address.
            raise PanelUnavailable(layer=layer) from None
        try:
            yield Stream(response, layer)
        finally:
            await response.aclose()


def events_of(endpoint: Endpoint, directory: str) -> Call:
    """The bus on which opencode tells what happens in one folder."""
    return Call(
        method="GET",
        url=f"{endpoint.url}/event",
        headers={
            "Authorization": endpoint.authorization,
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
        },
        params={"directory": directory},
    )
