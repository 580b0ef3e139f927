"""Citation fidelity: sample sentences, search them, open the citations, read the place by other means, compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from knowledge.citations.locators import LocatorKind, LocatorState
from knowledge.exceptions import LocatorStale
from knowledge.fidelity import reading, sampling
from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind
from knowledge.services import answers, opening, parsing, references, search
from knowledge.services.opening import OpenedPlace
from knowledge.services.references import Reference
from mnote.exceptions import AppError
from mnote.principals import Principal
from mnote.services import files

_TOP = 10
_MAX_BYTES = 512 * 1024 * 1024
#: Places that other readers spell or order differently: compared by pieces.
_LOOSE = frozenset({LocatorKind.PDF_REGION, LocatorKind.SHEET_RANGE, LocatorKind.HTML_RANGE, LocatorKind.MAIL_PART})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A sentence, the document it was taken from, and the token of the citation that was found for it, if any."""

    document: Document
    sentence: str
    token: str = ""


@dataclass(slots=True)
class Tally:
    """Counts by outcome. `right` is the share of sampled sentences whose truth was told. `faults` explains the rest;
    `narrowed` counts sentences that a provider outside ranked too low, so that their document was asked alone."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, str]] = field(default_factory=list)

    def note(self, outcome: str, sample: Sample, why: str = "") -> None:
        self.counts["sampled"] += 1
        self.counts[outcome] += 1
        if why or outcome in ("wrong", "missed", "degraded"):
            self.faults.append(
                {"path": sample.document.source_path, "sentence": sample.sentence[:120], "outcome": outcome, "why": why}
            )

    @property
    def right(self) -> float:
        sampled = self.counts["sampled"]
        told = sum(self.counts[name] for name in ("exact", "moved", "changed", "gone"))
        return told / sampled if sampled else 0.0


def take_samples(kb: KnowledgeBase, *, limit: int, seed: str = "fidelity") -> list[Sample]:
    """Choose up to `limit` sentences, spread evenly over the indexed documents."""
    rows = list(
        kb.documents.filter(index_status=IndexStatus.INDEXED).select_related("root", "kb").order_by("sort_path")
    )
    each = max(1, -(-limit // max(1, len(rows))))
    return list(_spread(rows, each, seed))[:limit]


def check(*, principal: Principal, kb: KnowledgeBase, samples: list[Sample], say: Callable[[str], None]) -> Tally:
    """Search each sentence and open what is found. Every citation opened must hold what it quotes; one of the first
    must hold the sentence. Fills in the tokens of the samples that were found."""
    tally = Tally()
    for number, sample in enumerate(samples):
        if number % 200 == 199:
            say(f"{number + 1} of {len(samples)} checked")
        samples[number] = _check_one(principal, kb, sample, tally)
    return tally


def check_after(*, principal: Principal, samples: list[Sample], expected: dict[str, set[str]]) -> Tally:
    """Open old citations again after the files changed. `expected` maps a document id to the truths that may be told;
    a place that is told must hold the sentence."""
    tally = Tally()
    for sample in samples:
        if not sample.token:
            continue
        state, place = _reopened(principal, sample.token)
        allowed = expected.get(sample.document.id, {"exact"})
        if state not in allowed:
            tally.note("wrong", sample, f"told {state}, true is {sorted(allowed)}")
        elif place is not None and state in ("exact", "moved") and not _place_holds(principal, place, sample.sentence):
            tally.note("wrong", sample, f"told {state}, but the place does not hold the sentence")
        else:
            tally.note(state, sample)
    return tally


def _spread(rows: list[Document], each: int, seed: str) -> Iterator[Sample]:
    for row in rows:
        source_map = parsing.known(workspace_id=row.workspace_id, source_hash=row.indexed_hash, name=row.name)
        if source_map is not None:
            chosen = sampling.choose(source_map, each, seed=f"{seed}:{row.source_path}", split=answers.sentences_of)
            for sentence in chosen:
                yield Sample(document=row, sentence=sentence)


def _check_one(principal: Principal, kb: KnowledgeBase, sample: Sample, tally: Tally) -> Sample:
    found = _found(principal, kb, sample)
    if kb.provider != ProviderKind.LOCAL and _holding(found, sample) is None:
        # How another ranks is not ours to judge: the place is, where its own document is asked alone.
        found = _found(principal, kb, sample, sample.document.id)
        tally.counts["narrowed"] += 1
    reference = _holding(found, sample)
    if reference is not None:
        return _check_reference(principal, reference, sample, tally)
    tally.note("degraded" if any(each.locator.degraded for each in found) else "missed", sample)
    return sample


def _found(principal: Principal, kb: KnowledgeBase, sample: Sample, *document_ids: str) -> tuple[Reference, ...]:
    scope = search.Scope(workspace=kb.workspace, kb_ids=(kb.id,), document_ids=document_ids)
    return search.search(principal=principal, scope=scope, query=sample.sentence, top_k=_TOP).references


def _holding(found: tuple[Reference, ...], sample: Sample) -> Reference | None:
    placed = (each for each in found if not each.locator.degraded)
    return next((each for each in placed if sampling.holds(each.locator.quote, sample.sentence)), None)


def _check_reference(principal: Principal, reference: Reference, sample: Sample, tally: Tally) -> Sample:
    state, place = _reopened(principal, reference.token)
    if place is None or not _place_holds(principal, place, sample.sentence):
        tally.note("wrong", sample, f"told {state}, but the place does not hold the sentence")
    else:
        tally.note(state, sample)
    return Sample(document=reference.document, sentence=sample.sentence, token=reference.token)


def _reopened(principal: Principal, token: str) -> tuple[str, OpenedPlace | None]:
    try:
        place = opening.open_citation(principal=principal, token=references.read_token(token))
    except LocatorStale:
        return LocatorState.GONE.value, None
    except AppError as error:
        return error.code, None
    return place.state.value, place


def _place_holds(principal: Principal, place: OpenedPlace, sentence: str) -> bool:
    if place.locator.degraded or place.source_map is None:
        return False
    with files.open_file(principal=principal, root=place.root, path=place.path) as opened:
        data = opened.read(max_bytes=_MAX_BYTES)
    text = reading.text_at(data, place.locator, place.source_map)
    return sampling.holds(text, sentence, loosely=place.locator.kind in _LOOSE)
