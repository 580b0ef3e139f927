"""Making a knowledge base in three steps: a name, what is in it, a look at what that means. One form whose fields
carry the state, so it works without scripts; nothing is stored before the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from knowledge.exceptions import NameTaken
from knowledge.file_words import TYPE_WORDS
from knowledge.forms import BasicsForm
from knowledge.models import KnowledgeBase, Reader
from knowledge.parsing.file_types import gives_text
from knowledge.reasons import reason_for
from knowledge.scanner.ignore import ignore_reason
from knowledge.services import kb_setup
from knowledge.services.forecasts import QUIET, Choice, Forecast, forecast
from knowledge.views.choosing import principal_of
from knowledge.views.index_places import IndexPlaces
from knowledge.views.picking import Pick, Picking
from mnote.exceptions import AppError, Forbidden, Invalid, NotFound
from mnote.files.opening import EntryKind
from mnote.htmx import is_fragment
from mnote.ids import text_key
from mnote.models import Role, Root, Workspace
from mnote.selectors import access
from mnote.services import files

_TEMPLATE = "knowledge/kb_new.html"
STEPS: tuple[tuple[str, Promise], ...] = (
    ("basics", gettext_lazy("Name")),
    ("sources", gettext_lazy("Files")),
    ("review", gettext_lazy("Review")),
)
#: Entries of one folder that the tree shows.
_SHOWN = 500
_PASTED = 200
_SECONDS, _REVIEW_SECONDS = 1.5, 4.0


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    flow = Flow(request)
    if not flow.workspaces:
        return _refused(request)
    if request.method == "GET":
        return _show(request, flow)
    given = request.POST
    if "toggle" in given or "fold" in given:
        flow.touch(given.get("toggle", ""), given.get("fold", ""))
        return _show(request, flow)
    match given.get("go"):
        case "back":
            flow.step = "basics" if flow.step == "sources" else "sources"
        case "paste":
            flow.paste()
        case "create" | "create-paused":
            return _create(request, flow, is_paused=given["go"] == "create-paused")
        case _:
            flow.advance()
    return _show(request, flow)


@login_required
@require_POST
def estimate(request: HttpRequest) -> HttpResponse:
    """What the present picks would mean."""
    flow = Flow(request)
    if not flow.workspaces:
        return _refused(request)
    return render(request, "knowledge/_kb_forecast.html", {"flow": flow, "found": flow.forecast})


def _refused(request: HttpRequest) -> HttpResponse:
    """Say whom to ask, to people who see a workspace but manage none; to others there is nothing here."""
    if not access.workspaces_for(principal_of(request)).exists():
        raise NotFound
    if is_fragment(request):
        raise Forbidden
    return render(request, "knowledge/kb_new_none.html", status=Forbidden.status)


def _create(request: HttpRequest, flow: Flow, *, is_paused: bool) -> HttpResponse:
    if not flow.is_complete():
        return _show(request, flow)
    data = flow.form.cleaned_data
    wish = kb_setup.Wish(
        name=data["name"],
        description=data["description"],
        preset=data["preset"],
        choices=flow.choices,
        is_paused=is_paused,
        parsed_by=data.get("parsed_by") or Reader.MNOTE,
        **IndexPlaces.wish(data.get("place", "")),
    )
    try:
        made = kb_setup.make_kb(
            principal=flow.principal, workspace=flow.workspace, root=flow.choices[0].root, wish=wish
        )
    except (Invalid, NameTaken) as error:
        flow.refuse(error)
        return _show(request, flow)
    if made.refused:
        words = ngettext(
            "%(count)d path could not be added: %(paths)s", "%(count)d paths could not be added: %(paths)s",
            len(made.refused),
        )  # fmt: skip
        paths = ", ".join(path for path, _reason in made.refused[:5])
        messages.warning(request, words % {"count": len(made.refused), "paths": paths})
    url = reverse("knowledge:kb-detail", args=[made.kb.pk])
    return HttpResponse(status=204, headers={"HX-Redirect": url}) if is_fragment(request) else redirect(url)


def _show(request: HttpRequest, flow: Flow) -> HttpResponse:
    name = f"{_TEMPLATE}#form" if is_fragment(request) else _TEMPLATE
    return render(request, name, {"flow": flow}, status=422 if flow.has_problem else 200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One node of the tree. `children` is None where it is closed."""

    pick: Pick
    name: str
    is_folder: bool
    state: str
    children: Level | None = None

    @property
    def key(self) -> str:
        """What ids on the page are made of, so that the focus stays when the tree is drawn anew."""
        return text_key(str(self.pick))[:16]

    @property
    def is_open(self) -> bool:
        return self.children is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What lies in one folder: at most `_SHOWN` entries, so many more, so many of types that are not read."""

    entries: Sequence[Entry] = ()
    more: int = 0
    unread: int = 0
    problem: str | Promise = ""


class Flow:
    """The state of the form, and what each step shows of it."""

    def __init__(self, request: HttpRequest) -> None:
        self.principal = principal_of(request)
        given = request.POST if request.method == "POST" else request.GET
        step = given.get("step", "")
        self.step = step if step in dict(STEPS) else "basics"
        self.picking = Picking.from_form(given)
        self.pasted = given.get("pasted", "")
        self.problems: list[str] = []
        self._given = given if request.method == "POST" else None
        self._asked = given.get("workspace", "")

    @cached_property
    def workspaces(self) -> list[Workspace]:
        """Where the person may make a knowledge base: managed, with a folder to see."""
        found = list(access.workspaces_for(self.principal))
        roles, roots = access.roles_in(self.principal, found), self._roots(found)
        return [each for each in found if roles.get(each.pk) in (Role.MANAGER, Role.OWNER) and roots.get(each.pk)]

    @cached_property
    def form(self) -> BasicsForm:
        named = [(each.pk, each.name) for each in self.workspaces]
        data = self._given and self.places.completed(self._given)
        return BasicsForm(named, self.places.choices, data, initial={"workspace": self._asked or named[0][0]})

    @cached_property
    def places(self) -> IndexPlaces:
        return IndexPlaces(self.workspace)

    @property
    def workspace(self) -> Workspace:
        found = next((each for each in self.workspaces if each.pk == self._asked), None)
        return found or self.workspaces[0]

    @cached_property
    def roots(self) -> list[Root]:
        return self._roots([self.workspace]).get(self.workspace.pk, [])

    @property
    def step_template(self) -> str:
        return f"knowledge/kb_new_{self.step}.html"

    @property
    def steps(self) -> list[tuple[str, Promise, str]]:
        """Each step with its word and where it stands: done, current, or to come."""
        names = [key for key, _word in STEPS]
        at = names.index(self.step)
        return [
            (key, word, "current" if place == at else "done" if place < at else "")
            for place, (key, word) in enumerate(STEPS)
        ]

    @cached_property
    def choices(self) -> list[Choice]:
        return self.picking.choices(self.roots)

    @cached_property
    def forecast(self) -> Forecast:
        seconds = _REVIEW_SECONDS if self.step == "review" else _SECONDS
        rules = kb_setup.PRESETS.get(self.preset, {})
        return forecast(principal=self.principal, choices=self.choices, rules=rules, seconds=seconds)

    @property
    def preset(self) -> str:
        asked = self._given.get("preset", "") if self._given else ""
        return asked if asked in kb_setup.PRESETS else "documents"

    @property
    def preset_word(self) -> str:
        return str(dict(self.form.fields["preset"].choices)[self.preset])  # type: ignore[attr-defined]

    @property
    def types(self) -> list[tuple[str | Promise, int, int]]:
        """Types of the files that would be read: word, number, size."""
        found = self.forecast.by_type
        return [(TYPE_WORDS.get(key, key), total.count, total.size) for key, total in found.items()]

    @property
    def skipped(self) -> list[tuple[str | Promise, int, Sequence[str]]]:
        """Why files would be left out: sentence, number, some of their paths."""
        found = self.forecast
        return [
            (reason_for(code).sentence, count, found.examples.get(code, ())) for code, count in found.skipped.items()
        ]

    @property
    def skipped_words(self) -> str:
        """The same in short: reasons people ask about, and how many for each."""
        found = self.forecast.skipped
        asked = [(code, count) for code, count in found.items() if code not in QUIET]
        return " · ".join(f"{str(reason_for(code).sentence).rstrip('.')}: {count:,}" for code, count in asked[:4])

    @property
    def has_problem(self) -> bool:
        return bool(self.problems) or (self.step == "basics" and self._given is not None and bool(self.form.errors))

    @cached_property
    def tree(self) -> list[Entry]:
        return [self._entry(Pick(root.key, ""), root.name, root, is_folder=True) for root in self.roots]

    # --- What the buttons do.

    def touch(self, toggled: str, folded: str) -> None:
        self.step = "sources"
        if pick := self._known(toggled):
            self.picking.toggle(pick)
        if pick := self._known(folded):
            self.picking.fold(pick)

    def advance(self) -> None:
        if self.step == "basics" and self.is_named():
            self.step = "sources"
            if len(self.roots) == 1:
                self.picking.opened.add(Pick(self.roots[0].key, ""))
        elif self.step == "sources":
            if not self.choices:
                self.problems.append(_("Choose at least one folder or file."))
            else:
                self.step = "review"

    def is_named(self) -> bool:
        """Check name and description, and that nobody uses the name."""
        if not self.form.is_valid():
            return False
        taken = KnowledgeBase.objects.filter(
            workspace=self.workspace, archived_at__isnull=True, name__iexact=self.form.cleaned_data["name"].strip()
        )
        if taken.exists():
            self.form.add_error("name", _("Another knowledge base of this workspace has this name."))
            return False
        return True

    def is_complete(self) -> bool:
        """Go back to the step at fault, if any."""
        if not self.is_named():
            self.step = "basics"
            return False
        if not self.choices:
            self.step = "sources"
            self.problems.append(_("Choose at least one folder or file."))
            return False
        given: Mapping[str, str] = self._given or {}
        place, reader = given.get("place", ""), given.get("parsed_by", "")
        if refusal := self.places.refusal(place) or self.places.reading_refusal(place, reader):
            self.problems.append(refusal)
            return False
        return True

    def paste(self) -> None:
        """Pick every pasted path that is there; the others stay in the field with a reason."""
        self.step = "sources"
        left = []
        for line in [line.strip() for line in self.pasted.splitlines() if line.strip()][:_PASTED]:
            pick = self._located(line)
            if pick is None:
                left.append(line)
                self.problems.append(_("“%(path)s” is not there, or not for you.") % {"path": line[:200]})
            elif self.picking.state(pick) != "true":
                self.picking.toggle(pick)
        self.pasted = "\n".join(left)

    def refuse(self, error: AppError) -> None:
        self.step = "basics"
        self.form.is_valid()
        for name, problems in error.extra.get("errors", {}).items():
            self.form.add_error(name if name in self.form.fields else None, [each["message"] for each in problems])

    # --- Parts.

    def _roots(self, workspaces: list[Workspace]) -> dict[str, list[Root]]:
        return access.visible_roots(self.principal, workspaces)

    def _known(self, text: str) -> Pick | None:
        pick = Pick.parse(text)
        return pick if pick and any(root.key == pick.root_key for root in self.roots) else None

    def _located(self, line: str) -> Pick | None:
        """Find a pasted path below any of the roots; it may begin with the root's name."""
        for root in self.roots:
            for path in (line.strip("/"), line.strip("/").removeprefix(f"{root.name}/")):
                pick = Pick.parse(f"{root.key}:{path}")
                if pick is None:
                    continue
                try:
                    facts = files.stat(principal=self.principal, root=root, path=pick.path)
                except AppError:
                    continue
                if facts.kind in (EntryKind.FILE, EntryKind.FOLDER):
                    return pick
        return None

    def _entry(self, pick: Pick, name: str, root: Root, *, is_folder: bool) -> Entry:
        is_open = is_folder and pick in self.picking.opened
        return Entry(
            pick=pick,
            name=name,
            is_folder=is_folder,
            state=self.picking.state(pick),
            children=self._level(root, pick.path) if is_open else None,
        )

    def _level(self, root: Root, path: str) -> Level:
        try:
            found = files.list_folder(principal=self.principal, root=root, path=path)
        except NotFound:
            return Level(problem=_("This folder is no longer there."))
        except AppError as error:
            return Level(problem=error.title)
        shown = [each for each in found if not ignore_reason(each.name, is_folder=each.kind is EntryKind.FOLDER)]
        wanted = [each for each in shown if each.kind is EntryKind.FOLDER or gives_text(each.name)]
        wanted.sort(key=lambda each: (each.kind is not EntryKind.FOLDER, each.name.casefold(), each.name))
        prefix = f"{path}/" if path else ""
        return Level(
            entries=[
                self._entry(
                    Pick(root.key, prefix + each.name), each.name, root, is_folder=each.kind is EntryKind.FOLDER
                )
                for each in wanted[:_SHOWN]
            ],
            more=max(0, len(wanted) - _SHOWN),
            unread=len(shown) - len(wanted),
        )
