"""Which headers pass between browser and OpenHub. Both ways are allow-lists: cookies, credentials, addresses of people,
cross-origin permissions and whatever could steer the browser stay where they are."""

from __future__ import annotations

from collections.abc import Mapping

_TO_OPENHUB = frozenset({"accept", "content-type"})
_TO_BROWSER = frozenset({"content-type"})
_STREAM = "text/event-stream"


def to_openhub(given: Mapping[str, str], *, token: str, request_id: str) -> dict[str, str]:
    """Return the headers of an upstream request: what the answer may look like, and who asks, as we know it."""
    kept = {name: value for name, value in given.items() if name.lower() in _TO_OPENHUB}
    return kept | {"Authorization": f"Bearer {token}", "X-Request-ID": request_id, "Accept-Encoding": "identity"}


def to_browser(given: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of the answer. Nothing of it may be stored, sniffed, or read by another origin."""
    kept = {name: value for name, value in given.items() if name.lower() in _TO_BROWSER}
    own = {
        "Cache-Control": "private, no-store",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    return kept | own


def is_stream(given: Mapping[str, str]) -> bool:
    return _type_of(given) == _STREAM


def is_json(given: Mapping[str, str]) -> bool:
    return _type_of(given) == "application/json"


def stream_headers() -> dict[str, str]:
    """Return the headers of a stream of events: no proxy on the way may hold it back."""
    return {
        "Cache-Control": "private, no-store, no-transform",
        "X-Accel-Buffering": "no",
        "X-Content-Type-Options": "nosniff",
    }


def _type_of(given: Mapping[str, str]) -> str:
    found = next((value for name, value in given.items() if name.lower() == "content-type"), "")
    return found.partition(";")[0].strip().lower()
