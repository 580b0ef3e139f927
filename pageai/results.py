"""The answer of a tool, fitted to a model: what stands twice is said once, what is not exact is said in words, and no
answer is larger than clients show. Pure, but for the language of the words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.utils.encoders import JSONEncoder

Body = dict[str, Any]

#: Clients cut what is longer than about 50 kB and keep the rest from the model.
MAX_BYTES = 48_000
_LONGEST_TEXT = 6_000
_SHORT_TEXT = 600
#: Members of a reference or passage that repeat another one: an address stands in citationMarkdown as well.
_REPEATED = frozenset({"openUrl", "openAction"})
_PLACES = ("locator", "source")
_CUT = "…"


def told(body: Body) -> Body:
    """Return the answer with repeated members left out of its rows, and with `placeNote` where a place is not exact."""
    said: Body = _told(_plain(body), is_row=False)
    return said


def fitted(body: Body, limit: int = MAX_BYTES) -> Body:
    """Return the answer in at most `limit` bytes: long texts are cut, then rows are left out from the end, and both is
    said. The text of a passage may be cut; what cites it never is."""
    if size_of(body) <= limit:
        return body
    shorter = body
    for longest in (_LONGEST_TEXT, _SHORT_TEXT):
        shorter = {**_with_texts(body, longest), "isCut": True, "cutNote": _cut_note()}
        if size_of(shorter) <= limit:
            return shorter
    while (excess := size_of(shorter) - limit) > 0:
        rows = _longest_list(shorter)
        if rows is None:
            return {"isCut": True, "cutNote": _cut_note()}
        while rows and excess > 0:
            excess -= size_of(rows.pop())
    return shorter


def size_of(body: Any) -> int:
    return len(text_of(body).encode())


def text_of(body: Any) -> str:
    """Return an answer as compact JSON."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def count_of(body: Mapping[str, Any]) -> int:
    """Return how many things an answer holds: results, sources, knowledge bases, else the one it is about."""
    lists = (body.get(name) for name in ("results", "references", "knowledgeBases"))
    return next((len(each) for each in lists if isinstance(each, list)), 1)


def _plain(body: Body) -> Any:
    """Return what JSON makes of the answer: times as text, ordered dictionaries as plain ones."""
    return json.loads(json.dumps(body, cls=JSONEncoder, ensure_ascii=False))


def _told(value: Any, *, is_row: bool) -> Any:
    if isinstance(value, list):
        return [_told(each, is_row=True) for each in value]
    if not isinstance(value, dict):
        return value
    repeated = _REPEATED if is_row else frozenset()
    said = {name: _told(each, is_row=is_row) for name, each in value.items() if name not in repeated}
    if is_row and said.get("matchedText") == said.get("quote"):
        said.pop("matchedText", None)
    for name in _PLACES if is_row else ():
        place = said.get(name)
        if isinstance(place, dict) and place.get("quote") == said.get("quote"):
            place.pop("quote", None)
    note = _place_note(said)
    return said | ({"placeNote": note} if note else {})


def _place_note(said: Mapping[str, Any]) -> str:
    if "citationMarkdown" not in said:
        return ""
    place = next((said[name] for name in _PLACES if isinstance(said.get(name), dict)), said)
    if said.get("locatorDegraded", place.get("locatorDegraded")):
        return _("The place is not exact: the citation opens the document without a place. Name no page and no line.")
    return {
        "moved": _("The passage stands at another place now; this is the new place."),
        "changed": _("The passage is no longer in the file; this is the nearest section. Say so."),
    }.get(str(said.get("locatorState", place.get("locatorState"))), "")


def _cut_note() -> str:
    return _("The answer was too long and was cut. Ask for less: fewer results, or a narrower question.")


def _with_texts(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_with_texts(each, longest) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _cut_text(name, each, longest) for name, each in value.items()}


def _cut_text(name: str, value: Any, longest: int) -> Any:
    is_text = isinstance(value, str) and not name.startswith(("citation", "openReference"))
    if is_text and len(value) > longest:
        return value[:longest] + _CUT
    return _with_texts(value, longest)


def _longest_list(value: Any) -> list[Any] | None:
    """Return the list that takes the most room, anywhere in the answer; None when no list holds anything."""
    found: list[list[Any]] = []
    _gather(value, found)
    return max(found, key=size_of, default=None)


def _gather(value: Any, found: list[list[Any]]) -> None:
    inner: Iterable[Any] = ()
    if isinstance(value, list):
        found += [value] if value else []
        inner = value
    elif isinstance(value, dict):
        inner = value.values()
    for each in inner:
        _gather(each, found)
