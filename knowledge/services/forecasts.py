"""What attaching folders and files would mean, found by looking at them for a short, bounded time."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any

from django.db.models import Q

from knowledge.models import Document, IndexStatus
from knowledge.parsing.file_types import end_of, is_read, type_for_name
from knowledge.scanner.globs import parse_globs
from knowledge.scanner.ignore import SkipReason
from knowledge.scanner.result import FoundFile, RootState, ScanResult, ScanRules, TypeTotal, UnreadCause
from knowledge.scanner.walk import scan
from mnote.models import Root
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap
from mnote.services import files

_MEGABYTE = 1024 * 1024
_MAX_FILES = 50_000
_EXAMPLES = 20
#: Reasons nobody asks about: they are counted, but no example is named.
QUIET = frozenset({"hidden", "system", "temporary", "sidecar", "secret"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A file or folder somebody picked, without the paths below it in `left_out`."""

    root: Root
    path: str
    left_out: tuple[str, ...] = ()

    @property
    def exclude(self) -> list[str]:
        """The patterns that leave out what is left out, as rules of a source write them."""
        start = len(self.path) + 1 if self.path else 0
        return [f"/{path[start:]}" for path in self.left_out]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Files that would be read and files that would be left out. `is_capped`: there are more than were looked at.
    `unreachable` are picked paths that cannot be looked at now. `pictures` are left out and could be read by a service
    that recognises them; `scans` would be read and are known to have no text.
    """

    count: int = 0
    size: int = 0
    by_type: Mapping[str, TypeTotal] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_capped: bool = False
    unreachable: tuple[str, ...] = ()
    pictures: int = 0
    scans: int = 0

    @property
    def recognisable(self) -> int:
        """How many need somebody who recognises what stands in them."""
        seen = self.by_type.get("image")
        return self.pictures + self.scans + (seen.count if seen else 0)

    @property
    def skipped_count(self) -> int:
        return sum(self.skipped.values())


def forecast(
    *,
    principal: Principal,
    choices: Sequence[Choice],
    rules: Mapping[str, Any],
    seconds: float = 2.0,
    pictures: frozenset[str] = frozenset(),
    takes_pictures: bool = False,
) -> Forecast:
    """Look at what was picked for at most about `seconds`. Files that the principal may not read are not counted.
    `pictures` are ends of names of pictures that some service could read; `takes_pictures`: one is to."""
    budget = _Budget(ends=time.monotonic() + seconds, files_left=_MAX_FILES)
    maps = access.access_maps(principal, {choice.root for choice in choices})
    total = _Total(pictures)
    takes = partial(is_read, pictures=pictures if takes_pictures else ())
    for choice in choices:
        granted = maps[choice.root.pk]
        if not granted.may_enter(choice.path):
            total.unreachable.append(choice.path)
        elif budget.is_spent:
            total.is_capped = True
        else:
            total.add(choice, _look(choice, rules, budget, takes), granted)
    total.is_capped = total.is_capped or budget.is_spent
    return replace(total.result(), scans=_known_scans(choices, maps))


def _known_scans(choices: Sequence[Choice], maps: Mapping[int, AccessMap]) -> int:
    """Count PDF files in which we found no text before, for whatever knowledge base."""
    wanted = Q(pk__in=[])
    for choice in choices:
        wanted |= Q(root=choice.root) & access.covered_by(choice.path) & maps[choice.root.pk].filter_q("source_path")
    rows = Document.objects.filter(wanted, source_type="pdf", index_status=IndexStatus.FAILED, reason_code="no_text")
    return rows.order_by().values("root", "path_key").distinct().count()


@dataclass(slots=True, kw_only=True)
class _Budget:
    ends: float
    files_left: int

    @property
    def is_spent(self) -> bool:
        return self.files_left <= 0 or time.monotonic() >= self.ends

    @contextmanager
    def listing(self, fd: int) -> Iterator[Iterator[os.DirEntry[str]]]:
        """Read an open folder; once the time is over every folder looks empty, and the walk ends by itself."""
        with os.scandir(fd) as entries:
            yield takewhile(lambda _: time.monotonic() < self.ends, entries)


def _look(choice: Choice, rules: Mapping[str, Any], budget: _Budget, takes: Callable[[str], bool]) -> ScanResult:
    wanted = ScanRules(
        path=choice.path,
        recursive=bool(rules.get("recursive", True)),
        include=parse_globs(rules.get("include", ())),
        exclude=parse_globs([*rules.get("exclude", ()), *choice.exclude]),
        max_bytes=int(rules.get("max_file_mb", 50)) * _MEGABYTE,
        takes=takes,
        max_files=max(1, budget.files_left),
    )
    found = scan(files.path_of_root(choice.root), wanted, listing=budget.listing)
    budget.files_left -= len(found.files)
    if any(error.cause is UnreadCause.TOO_MANY for error in found.errors):
        budget.files_left = 0
    return found


class _Total:
    """Sums up several looks. A file that two picks hold is counted twice: picks do not overlap."""

    def __init__(self, pictures: frozenset[str]) -> None:
        self._ends = pictures
        self.pictures = 0
        self.types: defaultdict[str, list[int]] = defaultdict(list)
        self.skipped: Counter[str] = Counter()
        self.examples: defaultdict[str, list[str]] = defaultdict(list)
        self.unreachable: list[str] = []
        self.is_capped = False

    def add(self, choice: Choice, found: ScanResult, granted: AccessMap) -> None:
        if found.root_state is RootState.GONE:
            self.unreachable.append(choice.path)
            return
        for file in _readable(found.files, granted):
            self.types[_type_of(file.path)].append(file.size)
        for skipped in found.skipped:
            if not granted.may_enter(skipped.path):
                continue
            reason = skipped.reason.value
            self.skipped[reason] += 1
            self.pictures += skipped.reason is SkipReason.UNSUPPORTED_TYPE and end_of(skipped.path) in self._ends
            if reason not in QUIET and len(self.examples[reason]) < _EXAMPLES:
                self.examples[reason].append(skipped.path)

    def result(self) -> Forecast:
        by_type = {name: TypeTotal(count=len(sizes), size=sum(sizes)) for name, sizes in self.types.items()}
        return Forecast(
            count=sum(each.count for each in by_type.values()),
            size=sum(each.size for each in by_type.values()),
            by_type=dict(sorted(by_type.items(), key=lambda pair: -pair[1].count)),
            skipped=dict(self.skipped.most_common()),
            examples={reason: tuple(paths) for reason, paths in self.examples.items()},
            is_capped=self.is_capped,
            unreachable=tuple(self.unreachable),
            pictures=self.pictures,
        )


def _readable(found: Iterable[FoundFile], granted: AccessMap) -> Iterator[FoundFile]:
    return (file for file in found if granted.may_read(file.path))


def _type_of(path: str) -> str:
    found = type_for_name(path.rpartition("/")[2])
    return found.key if found else ""


def normalised(choices: Iterable[Choice]) -> list[Choice]:
    """Drop picks that another pick holds, and what is left out of a pick but lies outside it."""
    kept: list[Choice] = []
    for choice in sorted(choices, key=lambda each: (each.root.pk, each.path)):
        if not any(_holds(other, choice.path) for other in kept if other.root == choice.root):
            below = tuple(sorted({path for path in choice.left_out if _is_inside(choice.path, path)}))
            kept.append(replace(choice, left_out=below))
    return kept


def _holds(choice: Choice, path: str) -> bool:
    is_out = any(path == out or _is_inside(out, path) for out in choice.left_out)
    return (path == choice.path or _is_inside(choice.path, path)) and not is_out


def _is_inside(folder: str, path: str) -> bool:
    return path.startswith(f"{folder}/") if folder else bool(path)
