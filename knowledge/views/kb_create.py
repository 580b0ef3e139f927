"""Making a knowledge base in three steps: a name, what is in it, a look at what that means. One form whose fields
carry the state, so it works without scripts; nothing is stored before the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
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
from knowledge.reasons import reason_for
from knowledge.services import kb_setup
from knowledge.services.forecasts import QUIET, Choice, Forecast, forecast
from knowledge.views.choosing import principal_of
from knowledge.views.index_places import IndexPlaces
from knowledge.views.kb_create_reading import SCANS, MakingReading, Proposal
from knowledge.views.pick_tree import Entry, PickTree
from knowledge.views.picking import Pick, Picking
from mnote.exceptions import AppError, Forbidden, Invalid, NotFound
from mnote.files.opening import EntryKind
from mnote.htmx import is_fragment
from mnote.models import Role, Root, Workspace
from mnote.selectors import access
from mnote.services import files

_TEMPLATE = "knowledge/kb_new.html"
STEPS: tuple[tuple[str, Promise], ...] = (
    ("basics", gettext_lazy("Name")),
    ("sources", gettext_lazy("Files")),
    ("review", gettext_lazy("Review")),
)
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
    flow.complete()
    given = request.POST
    if "toggle" in given or "fold" in given:
        flow.touch(given.get("toggle", ""), given.get("fold", ""))
        return _show(request, flow)
    match given.get("go"):
        case "back":
            flow.step = "basics" if flow.step == "sources" else "sources"
        case "paste":
            flow.paste()
        case "read-there":
            flow.give(flow.reading.proposed())
        case "look":
            pass
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
    flow.complete()
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
        reading=flow.reading.settings(),
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
        self._asked = given.get("workspace", "")
        self._place, self._reader = given.get("place", ""), given.get("parsed_by", "")
        self._given: QueryDict | None = request.POST if request.method == "POST" else None

    @cached_property
    def workspaces(self) -> list[Workspace]:
        """Where the person may make a knowledge base: managed, with a folder to see."""
        found = list(access.workspaces_for(self.principal))
        roles, roots = access.roles_in(self.principal, found), self._roots(found)
        return [each for each in found if roles.get(each.pk) in (Role.MANAGER, Role.OWNER) and roots.get(each.pk)]

    @cached_property
    def form(self) -> BasicsForm:
        named = [(each.pk, each.name) for each in self.workspaces]
        return BasicsForm(named, self.places.choices, self._given, initial={"workspace": self._asked or named[0][0]})

    @cached_property
    def places(self) -> IndexPlaces:
        return IndexPlaces(self.workspace)

    @cached_property
    def reading(self) -> MakingReading:
        return MakingReading(self.places, self._given)

    @property
    def proposal(self) -> Proposal | None:
        return self.reading.proposal(self.forecast)

    @property
    def lacks_reader_of_scans(self) -> bool:
        """Whether scans are expected and nobody recognises them."""
        return self.preset == SCANS and not self.reading.readers_of_scans

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
        return forecast(
            principal=self.principal, choices=self.choices, rules=rules, seconds=seconds,
            pictures=self.reading.picture_ends, takes_pictures=self.reading.takes_pictures,
        )  # fmt: skip

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
        return PickTree(principal=self.principal, picking=self.picking, takes=self.takes).of(self.roots)

    def takes(self, name: str) -> bool:
        """Say whether files of this base name are read."""
        return self.reading.takes(name)

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
        if refusal := self.places.refusal(self._place) or self.places.reading_refusal(self._place, self._reader):
            self.problems.append(refusal)
            return False
        if not self.reading.is_valid():
            self.problems.append(_("Look at the parsing engines: one of them cannot be chosen."))
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

    def complete(self) -> None:
        """Fill in what was not asked yet, and what the kind of content says. Only where there is a workspace."""
        if self._given is None:
            return
        self._given = self.places.completed(self._given)
        if self.step == "basics":
            self.give(self._preset_reading())

    def give(self, wanted: Mapping[str, str]) -> None:
        """Fill in fields for the person; they can be changed."""
        if self._given is None or not wanted:
            return
        self._given = self._given.copy()
        for name, value in wanted.items():
            self._given[name] = value
        for name in ("reading", "form"):
            self.__dict__.pop(name, None)

    def refuse(self, error: AppError) -> None:
        errors = error.extra.get("errors", {})
        if any(name.startswith("reading.") for name in errors):
            self.reading.refuse(errors)
            self.problems += [each["message"] for found in errors.values() for each in found]
            return
        self.step = "basics"
        self.form.is_valid()
        for name, problems in errors.items():
            self.form.add_error(name if name in self.form.fields else None, [each["message"] for each in problems])

    # --- Parts.

    def _preset_reading(self) -> dict[str, str]:
        """What the kind of content says of who reads; another kind takes back what scans had preset."""
        given: Mapping[str, str] = self._given or {}
        if self.preset == SCANS:
            return self.reading.proposed()
        return {"parsed_by": Reader.MNOTE.value, "pictures": ""} if given.get("were_scans") else {}

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
