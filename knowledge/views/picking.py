"""Picking files and folders in a tree whose state lies in the fields of a form: what is chosen, what of it is left
out, which folders are open. A folder chosen covers all below it, also what appears there later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.http import QueryDict

from knowledge.services.forecasts import Choice, normalised
from mnote.files.errors import InvalidPath
from mnote.files.prefixes import components
from mnote.models import Root

#: More picks than this are no longer picked by hand.
_MOST = 500


@dataclass(frozen=True, slots=True)
class Pick:
    """A path below a root, as a field writes it: "root:path"."""

    root_key: str
    path: str

    @classmethod
    def parse(cls, text: str) -> Pick | None:
        root_key, colon, path = text.partition(":")
        if not colon or not root_key:
            return None
        try:
            return cls(root_key, "/".join(components(path)))
        except InvalidPath:
            return None

    def __str__(self) -> str:
        return f"{self.root_key}:{self.path}"

    def above(self) -> Iterator[Pick]:
        """Yield every folder above this one, nearest first; the root itself is the last."""
        path = self.path
        while path:
            path = path.rpartition("/")[0]
            yield Pick(self.root_key, path)

    def is_above(self, other: Pick) -> bool:
        inside = other.path.startswith(f"{self.path}/") if self.path else bool(other.path)
        return self.root_key == other.root_key and inside


@dataclass(slots=True, kw_only=True)
class Picking:
    """The state of the tree. `chosen` and `left_out` alternate on the way down: what counts is the nearest one."""

    chosen: set[Pick] = field(default_factory=set)
    left_out: set[Pick] = field(default_factory=set)
    opened: set[Pick] = field(default_factory=set)

    @classmethod
    def from_form(cls, form: QueryDict) -> Picking:
        return cls(
            chosen=_picks(form.getlist("chosen")),
            left_out=_picks(form.getlist("left_out")),
            opened=_picks(form.getlist("opened")),
        )

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The state as names and values of hidden fields."""
        named = (("chosen", self.chosen), ("left_out", self.left_out), ("opened", self.opened))
        return [(name, str(pick)) for name, picks in named for pick in sorted(picks, key=str)]

    def state(self, pick: Pick) -> str:
        """Say whether a path is picked, as `aria-checked` has it: true, false, or mixed."""
        is_in = self._is_in(pick)
        exceptions = self.left_out if is_in else self.chosen
        if any(pick.is_above(other) for other in exceptions):
            return "mixed"
        return "true" if is_in else "false"

    def toggle(self, pick: Pick) -> None:
        """Pick a path with all below it, or take it out again. A partly picked one becomes wholly picked."""
        wants_in = self.state(pick) != "true"
        for picks in (self.chosen, self.left_out):
            picks.difference_update({each for each in picks if each == pick or pick.is_above(each)})
        if wants_in and not self._is_in(pick):
            self.chosen.add(pick)
        elif not wants_in and self._is_in(pick):
            self.left_out.add(pick)

    def fold(self, pick: Pick) -> None:
        """Open a folder of the tree, or close it."""
        self.opened ^= {pick}

    def choices(self, roots: Iterable[Root]) -> list[Choice]:
        """Return what is picked in these roots, without overlaps."""
        by_key = {root.key: root for root in roots}
        return normalised(
            Choice(
                root=by_key[pick.root_key],
                path=pick.path,
                left_out=tuple(each.path for each in self.left_out if pick.is_above(each) and self._owns(pick, each)),
            )
            for pick in self.chosen
            if pick.root_key in by_key
        )

    def _is_in(self, pick: Pick) -> bool:
        for each in (pick, *pick.above()):
            if each in self.left_out:
                return False
            if each in self.chosen:
                return True
        return False

    def _owns(self, pick: Pick, left_out: Pick) -> bool:
        """Say whether nothing between the two is chosen by itself."""
        nearest = next((each for each in left_out.above() if each in self.chosen), None)
        return nearest == pick


def _picks(texts: list[str]) -> set[Pick]:
    return {pick for pick in map(Pick.parse, texts[:_MOST]) if pick is not None}
