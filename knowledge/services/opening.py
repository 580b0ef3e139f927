"""Opening a place in a local file, with the truth about it as the file is now (spec 5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from knowledge.citations.lines import LineIndex
from knowledge.citations.locators import Locator, LocatorState, MapState, Resource, locate, whole_resource
from knowledge.citations.truth import Verdict, judge
from knowledge.exceptions import LocatorStale
from knowledge.models import Document, IndexStatus
from knowledge.parsing.base import ParseError
from knowledge.parsing.registry import kind_for_name
from knowledge.parsing.source_map import ResourceKind, SourceMap
from knowledge.scanner.fingerprint import ChangedWhileReading, sha256_of
from knowledge.services import artifacts, parsing
from knowledge.services.references import CitationToken
from mnote.exceptions import AppError, NotFound
from mnote.models import Root
from mnote.principals import Principal
from mnote.selectors import access
from mnote.services import files


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPlace:
    """A file and a place in it, as they are now.

    `state` is EXACT, MOVED, CHANGED or UNVERIFIED (no quote was given); GONE is raised instead. `source_map` is None
    when the file holds no readable text; `problem` says why, as a reason code. `occurrences` counts equal passages.
    """

    root: Root
    path: str
    locator: Locator
    state: LocatorState
    source_map: SourceMap | None
    problem: str = ""
    occurrences: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Now:
    path: str
    source_hash: str
    source_map: SourceMap | None
    problem: str = ""


def open_citation(*, principal: Principal, token: CitationToken) -> OpenedPlace:
    """Open what a token cites. Raises NotFound when the caller may not see it, LocatorStale when the file is gone.

    The cited path is tried first, then where the registry saw the document last, then other files with the same
    content: a renamed file opens at its new path.
    """
    workspace = access.get_workspace(principal, token.workspace_id)
    root = access.root_of(workspace, token.root_key)
    second_best: OpenedPlace | None = None
    for path in _candidates(principal, root, token):
        now = _look(principal, root, path)
        if now is None:
            continue
        place = _judged(root, now, token)
        if place.state in (LocatorState.EXACT, LocatorState.MOVED):
            return place
        second_best = second_best or place
    if second_best is None:
        raise LocatorStale if access.access_map(principal, root).may_read(token.path) else NotFound
    return second_best


def open_path(*, principal: Principal, root: Root, path: str, lines: tuple[int, int] | None = None) -> OpenedPlace:
    """Open a file without a citation; `lines` are derived lines to point at. Raises NotFound."""
    now = _look(principal, root, path)
    if now is None:
        raise NotFound
    if now.source_map is None:
        return _without_place(root, now)
    last = now.source_map.line_count
    wanted = lines if lines and 1 <= lines[0] <= lines[1] <= last else None
    if wanted is None:
        return _without_place(root, now)
    chars = LineIndex(now.source_map.text).span_of(*wanted)
    locator = locate(now.source_map, _resource(root, now), lines=wanted, chars=chars)
    return OpenedPlace(
        root=root, path=now.path, locator=locator, state=LocatorState.UNVERIFIED, source_map=now.source_map
    )


def _candidates(principal: Principal, root: Root, token: CitationToken) -> Iterator[str]:
    """Yield paths worth a look, best first, each once, readable ones only."""
    seen = {token.path}
    readable = access.access_map(principal, root)
    if readable.may_read(token.path):
        yield token.path
    rows = Document.objects.filter(workspace_id=root.workspace_id, root=root).exclude(index_status=IndexStatus.DELETED)
    same_row = rows.filter(id=token.document_id).values_list("source_path", flat=True)
    same_content = rows.filter(source_hash=token.citation.source_hash).order_by("sort_path")
    for path in [*same_row, *same_content.values_list("source_path", flat=True)[:20]]:
        if path not in seen and readable.may_read(path):
            seen.add(path)
            yield path


def _look(principal: Principal, root: Root, path: str) -> _Now | None:
    """Read a file as it is now; None when it is not there or not for the caller."""
    try:
        with files.open_file(principal=principal, root=root, path=path) as opened:
            source_hash = "sha256:" + sha256_of(opened.fd)
            return _parsed(root, path, opened.fd, source_hash)
    except ChangedWhileReading:
        return _Now(path=path, source_hash="", source_map=None, problem="source_changed_while_parsing")
    except AppError:
        return None


def _parsed(root: Root, path: str, fd: int, source_hash: str) -> _Now:
    name = path.rpartition("/")[2]
    source_map = parsing.known(workspace_id=root.workspace_id, source_hash=source_hash, name=name)
    problem = ""
    if source_map is None:
        try:
            source_map = parsing.parse(fd=fd, name=name)
            artifacts.store(root=root, path=path, source_map=source_map)
        except ParseError as error:
            problem = error.code.value
    return _Now(path=path, source_hash=source_hash, source_map=source_map, problem=problem)


def _judged(root: Root, now: _Now, token: CitationToken) -> OpenedPlace:
    if now.source_map is None or not token.citation.anchor.length:
        return _without_quote(root, now, token)
    verdict = judge(token.citation, now.source_map)
    state = verdict.state
    if state is LocatorState.EXACT and now.path != token.path:
        state = LocatorState.MOVED
    return OpenedPlace(
        root=root,
        path=now.path,
        locator=_pointed(root, now, verdict).with_state(state),
        state=state,
        source_map=now.source_map,
        problem=now.problem,
        occurrences=verdict.occurrences,
    )


def _pointed(root: Root, now: _Now, verdict: Verdict) -> Locator:
    assert now.source_map is not None  # noqa: S101 the caller has checked
    if verdict.lines is None or verdict.chars is None:
        return _whole(root, now, MapState.NONE)
    return locate(now.source_map, _resource(root, now), lines=verdict.lines, chars=verdict.chars)


def _without_quote(root: Root, now: _Now, token: CitationToken) -> OpenedPlace:
    """A citation of a whole document, or a file that cannot be read as text now: the hash alone decides."""
    same = now.source_hash == token.citation.source_hash
    moved_state = LocatorState.EXACT if now.path == token.path else LocatorState.MOVED
    state = moved_state if same else LocatorState.CHANGED
    place = _without_place(root, now)
    return OpenedPlace(
        root=root,
        path=now.path,
        locator=place.locator.with_state(state),
        state=state,
        source_map=now.source_map,
        problem=now.problem,
    )


def _without_place(root: Root, now: _Now) -> OpenedPlace:
    state = MapState.NONE if now.source_map else MapState.NO_TEXT
    return OpenedPlace(
        root=root,
        path=now.path,
        locator=_whole(root, now, state),
        state=LocatorState.UNVERIFIED,
        source_map=now.source_map,
        problem=now.problem,
    )


def _whole(root: Root, now: _Now, map_state: MapState) -> Locator:
    kind = now.source_map.kind if now.source_map else kind_for_name(now.path.rpartition("/")[2])
    return whole_resource(
        kind or ResourceKind.TEXT, _resource(root, now), source_hash=now.source_hash, map_state=map_state
    )


def _resource(root: Root, now: _Now) -> Resource:
    reference = artifacts.source_map_reference(workspace_id=root.workspace_id, source_hash=now.source_hash)
    return Resource(root_uri=root.root_uri, path=now.path, source_map_path=reference)
