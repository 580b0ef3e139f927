"""What stands around an opened place: neighbours on its page, its section, an excerpt; from the file as it is now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from knowledge.citations.locators import Locator, LocatorState, MapState, Resource, locate, whole_resource
from knowledge.parsing.source_map import Block, ResourceKind, Section, SourceMap
from knowledge.providers.local.tokens import query_terms, tokens
from knowledge.providers.registry import local_provider
from knowledge.services.opening import OpenedPlace

_SUMMARY_CHARS = 300
_MAX_RELEVANT = 3
_PAGED = frozenset({ResourceKind.PDF, ResourceKind.SLIDES, ResourceKind.SHEET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One passage and its place."""

    quote: str
    locator: Locator


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionText:
    """The section of a place. `summary` is how it begins. `is_cut` says that not all of its passages are here."""

    title: str
    path: tuple[str, ...]
    summary: str
    blocks: tuple[Passage, ...]
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How much to gather: passages before and after, the section or not, characters in all, words that matter."""

    before: int = 2
    after: int = 2
    section: bool = True
    max_chars: int = 8_000
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What was gathered. `neighbours` leave out the place itself. `degraded`: the file gives no text now, so this
    comes from the index. `relevant` are further passages of the section that share words with the query."""

    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()
    section: SectionText | None = None
    relevant: tuple[Passage, ...] = ()
    excerpt: str = ""
    degraded: bool = False


Make = Callable[[Block], Passage]


class _Budget:
    """Characters that are left."""

    def __init__(self, chars: int) -> None:
        self.left = chars
        self.is_spent = False

    def take(self, passages: Iterable[Passage]) -> tuple[Passage, ...]:
        taken = []
        for passage in passages:
            if len(passage.quote) > self.left:
                self.is_spent = True
                break
            self.left -= len(passage.quote)
            taken.append(passage)
        return tuple(taken)


def around(place: OpenedPlace, *, window: Window, chunk_id: str = "") -> Surroundings:
    """Gather what stands around a place. A place that is not exactly known has no surroundings."""
    source_map = place.source_map
    if source_map is None:
        return _from_index(place, window, chunk_id)
    at = _block_at(source_map, place.locator)
    if at is None or place.locator.degraded or place.state is LocatorState.CHANGED:
        return Surroundings()
    budget = _Budget(max(0, window.max_chars - len(place.locator.quote)))
    make = _maker(place, source_map)
    before = budget.take(make(block) for block in reversed(_near(source_map, at, -1, window.before)))
    after = budget.take(make(block) for block in _near(source_map, at, 1, window.after))
    section = source_map.section_of(place.locator.line_start) if window.section else None
    return Surroundings(
        before=before[::-1],
        after=after,
        section=_section_text(source_map, section, make, budget) if section else None,
        relevant=_relevant(source_map, section, at, window.query, make),
        excerpt=_excerpt(source_map, place.locator, budget.left),
    )


def resource_of(place: OpenedPlace) -> Resource:
    """Return the file of an opened place, for further places in it."""
    return Resource(
        root_uri=place.root.root_uri,
        path=place.path,
        source_map_path=place.locator.source_map_path,
        owners=place.locator.owners,
    )


def _maker(place: OpenedPlace, source_map: SourceMap) -> Make:
    resource = resource_of(place)

    def make(block: Block) -> Passage:
        lines, chars = (block.line_start, block.line_end), (block.char_start, block.char_end)
        locator = locate(source_map, resource, lines=lines, chars=chars).with_state(LocatorState.EXACT)
        return Passage(quote=block.text, locator=locator)

    return make


def _block_at(source_map: SourceMap, locator: Locator) -> int | None:
    """Return the number of the block in which the place begins."""
    for number, block in enumerate(source_map.blocks):
        if block.char_end > locator.char_start:
            return number
    return None


def _near(source_map: SourceMap, at: int, step: int, count: int) -> list[Block]:
    """Return up to `count` blocks on one side of block `at`, nearest first; of paged files on its own pages only."""
    pages = _pages(source_map, source_map.blocks[at])
    found: list[Block] = []
    number = at + step
    while 0 <= number < len(source_map.blocks) and len(found) < count:
        block = source_map.blocks[number]
        if source_map.kind in _PAGED and not pages & _pages(source_map, block):
            break
        found.append(block)
        number += step
    return found if step > 0 else found[::-1]


def _pages(source_map: SourceMap, block: Block) -> set[object]:
    places = (source_map.place_of(line) for line in range(block.line_start, block.line_end + 1))
    return {place.page or place.slide or place.sheet for place in places}


def _section_text(source_map: SourceMap, section: Section, make: Make, budget: _Budget) -> SectionText:
    blocks = list(_blocks_in(source_map, section))
    passages = budget.take(make(block) for block in blocks)
    return SectionText(
        title=section.title,
        path=section.path,
        summary=_summary(blocks),
        blocks=passages,
        is_cut=len(passages) < len(blocks),
    )


def _blocks_in(source_map: SourceMap, section: Section) -> Iterator[Block]:
    for block in source_map.blocks:
        if section.line_start <= block.line_start and block.line_end <= section.line_end:
            yield block


def _summary(blocks: Sequence[Block]) -> str:
    bodies = (" ".join(_without_headings(block.text).split()) for block in blocks if block.type != "heading")
    text = next((body for body in bodies if body), "")
    return text if len(text) <= _SUMMARY_CHARS else text[: _SUMMARY_CHARS - 1].rstrip() + "…"


def _without_headings(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith("#"))


def _relevant(source_map: SourceMap, section: Section | None, at: int, query: str, make: Make) -> tuple[Passage, ...]:
    wanted = {term.text for term in query_terms(query)} if query else set()
    if section is None or not wanted:
        return ()
    others = [block for block in _blocks_in(source_map, section) if block is not source_map.blocks[at]]
    scored = [(len(wanted & set(tokens(block.text))), block) for block in others if block.type != "heading"]
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])[:_MAX_RELEVANT]
    return tuple(make(block) for _, block in best)


def _excerpt(source_map: SourceMap, locator: Locator, room: int) -> str:
    """Return derived text around the place: whole lines, at most `room` characters beside the place itself."""
    side = room // 2
    start = max(0, locator.char_start - side)
    end = min(len(source_map.text), locator.char_end + side)
    if start:
        start = source_map.text.find("\n", start, locator.char_start) + 1 or locator.char_start
    if end < len(source_map.text):
        cut = source_map.text.rfind("\n", locator.char_end, end)
        end = cut if cut >= 0 else locator.char_end
    return source_map.text[start:end]


def _from_index(place: OpenedPlace, window: Window, chunk_id: str) -> Surroundings:
    """The file cannot be read as text now: what the index still holds of it, without exact places."""
    workspace_id = place.root.workspace_id
    blocks = local_provider().neighbours(workspace_id, chunk_id, before=window.before, after=window.after)
    anchor = next((block.ordinal for block in blocks if block.block_id == chunk_id), 0)
    budget = _Budget(window.max_chars)
    locator = whole_resource(
        place.locator.resource_kind, resource_of(place), source_hash=place.locator.source_hash, map_state=MapState.NONE
    )

    def passages(side: Iterable[str]) -> tuple[Passage, ...]:
        return budget.take(Passage(quote=text, locator=locator) for text in side)

    return Surroundings(
        before=passages(block.text for block in blocks if block.ordinal < anchor),
        after=passages(block.text for block in blocks if block.ordinal > anchor),
        degraded=True,
    )
