"""Which workspace, root and place a request of the file pages means."""

from __future__ import annotations

import re
from typing import Any, cast

from django.http import HttpRequest, QueryDict

from knowledge.rendering.pages import parse_box
from knowledge.rendering.tables import parse_range
from knowledge.services.reading import Pointer
from mnote.exceptions import NotFound
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access

_LINES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?$")
_HASH = re.compile(r"[0-9a-f]{16,64}")
_NUMBER = re.compile(r"\d{1,9}$")


def principal_of(request: HttpRequest) -> Principal:
    """Return who is signed in; only for views that need a login."""
    return cast("Principal", request.principal)  # type: ignore[attr-defined]


def workspace_of(request: HttpRequest, workspace_id: str) -> Workspace:
    """Fetch the workspace. Raises NotFound."""
    return access.get_workspace(principal_of(request), workspace_id)


def root_of(request: HttpRequest, workspace: Workspace) -> Root:
    """Return the root that `?root=` names, else the first in which the person sees anything. Raises NotFound."""
    key = request.GET.get("root")
    if key:
        return access.root_of(workspace, key)
    roots = access.visible_roots(principal_of(request), [workspace]).get(workspace.pk, [])
    if not roots:
        raise NotFound
    return access.root_of(workspace, roots[0].key)


def pointer_of(query: QueryDict) -> Pointer:
    """Read the place out of a query. What cannot be read is as if it were not there."""
    return Pointer(
        cite=query.get("cite", ""),
        lines=_lines(query.get("lines", "")),
        page=number_of(query, "page"),
        box=parse_box(query.get("bbox", "")),
        sheet=query.get("sheet", ""),
        cells=parse_range(query.get("range", "")),
        slide=number_of(query, "slide"),
        block=query.get("block", ""),
        nth=number_of(query, "nth"),
        as_of=query.get("hash", "") if _HASH.fullmatch(query.get("hash", "")) else "",
        start=number_of(query, "from"),
        end=number_of(query, "to"),
    )


def place_query(query: QueryDict) -> dict[str, Any]:
    """Return the parts of a query that name a place, so that a link can keep them."""
    return {name: query[name] for name in _PLACE if query.get(name)}


def number_of(query: QueryDict, name: str) -> int | None:
    """Return a positive number given in a query, None for anything else."""
    written = query.get(name, "")
    value = int(written) if _NUMBER.match(written) else 0
    return value or None


def _lines(written: str) -> tuple[int, int] | None:
    match = _LINES.match(written)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return (first, last) if 1 <= first <= last else None


_PLACE = ("cite", "lines", "page", "bbox", "sheet", "range", "slide", "block", "nth", "hash")
