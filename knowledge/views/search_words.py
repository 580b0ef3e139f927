"""The words of the search pages: what a match is, what a score is, what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from knowledge.models import KnowledgeBase
from knowledge.services.asking import Silent
from mnote.templatetags.mnote_ui import calendar_words, number

Words = str | Promise
#: Knowledge bases that are named in one sentence.
_NAMED = 3

#: How a provider says that it found a passage -> how people are told.
_FOUND_BY: dict[str, Words] = {
    "words": gettext_lazy("found by its words"),
    "meaning": gettext_lazy("found by its meaning"),
    "hybrid": gettext_lazy("found by words and meaning"),
    "neighbour": gettext_lazy("stands beside a match"),
    "parent": gettext_lazy("holds a match"),
    "relation": gettext_lazy("related to a match"),
    "graph": gettext_lazy("found through the graph"),
}
_SCORE_KINDS: dict[str, Words] = {
    "words": gettext_lazy("Score of the words"),
    "meaning": gettext_lazy("Nearness of the meaning"),
    "hybrid": gettext_lazy("Score of the rank in both lists"),
}
_NOTES: dict[str, Words] = {
    "no-words": gettext_lazy("The question holds no word that can be looked for."),
    "knowledge-base-missing": gettext_lazy("A knowledge base has no index at its service yet, or lost it."),
    "query-cut": gettext_lazy("The question was too long; only its beginning was used."),
    "index-outdated": gettext_lazy("The index is of an older version; results may be incomplete."),
    "index-rebuilding": gettext_lazy("The index is being built anew; results may be incomplete."),
}  # fmt: skip


def found_by(match_type: str, *, has_marks: bool) -> Words:
    """Say why a passage is a hit, in a few words. Nothing marked in it is said, not left to be wondered about."""
    if has_marks:
        return _FOUND_BY.get(match_type, match_type)
    if match_type == "words":
        return _("the words stand in its title or headings")
    if match_type == "meaning":
        return _("no words in common; found by its meaning")
    return _FOUND_BY.get(match_type, match_type)


def score_kind(match_type: str) -> Words:
    return _SCORE_KINDS.get(match_type, _("Score of the service"))


def raw_score(score: float | None) -> str:
    """The number as it is: never a percentage, never rounded to nothing."""
    return "–" if score is None else f"{score:.4g}"


def notes(codes: Iterable[str]) -> list[Words]:
    return [_NOTES.get(code, code) for code in codes]


def silent(found: Iterable[Silent]) -> list[Words]:
    """Say which knowledge bases could not be searched, why in two words, and since when."""
    return [_silent(each) for each in found]


def _silent(one: Silent) -> str:
    facts = {"name": one.link.name, "kbs": _some(kb.name for kb in one.kbs)}
    if one.since is None:
        return _("“%(name)s” gave no answer for %(kbs)s. These are the results of the others.") % facts
    facts["time"] = calendar_words(one.since)
    return _("“%(name)s” does not work since %(time)s. These are the results without %(kbs)s.") % facts


def _some(names: Iterable[str]) -> str:
    """Name a few, and count the rest."""
    every = [f"“{name}”" for name in names]
    more = len(every) - _NAMED
    if more <= 0:
        return ", ".join(every)
    rest = ngettext("%(count)d more", "%(count)d more", more) % {"count": more}
    return ", ".join([*every[:_NAMED], rest])


def count_words(count: int) -> str:
    return ngettext("%(count)s result", "%(count)s results", count) % {"count": number(count)}


def scope_name(kbs: Sequence[KnowledgeBase], *, is_all: bool) -> str:
    """Name what was searched: one by its name, several by how many they are."""
    if len(kbs) == 1:
        return kbs[0].name
    if is_all:
        return _("all knowledge bases")
    return ngettext("%(count)d knowledge base", "%(count)d knowledge bases", len(kbs)) % {"count": len(kbs)}
