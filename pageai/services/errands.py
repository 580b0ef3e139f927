"""Everything the panel asks that is no stream: checked, asked of OpenHub as the person, and cleaned on the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from mnote.exceptions import NotFound
from mnote.http import Answer
from pageai.exceptions import TurnRunning
from pageai.models import PanelIdentity
from pageai.panel import bodies, routes
from pageai.panel.errors import PanelProtocolError, PanelRefused, PanelUnavailable
from pageai.panel.openhub import LAYER, OpenHub
from pageai.panel.routes import Action, Match
from pageai.services import bindings, direct, gatekeeping, journals, opencodes, panel, provisioning, runs, turns
from pageai.services.gatekeeping import Visit

_PAGE_SIZE, _MAX_PAGES, _MAX_SHOWN = 100, 50, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One request of the panel."""

    visit: Visit
    match: Match
    query: Mapping[str, str]
    body: Mapping[str, Any]


def run(errand: Errand) -> Mapping[str, Any]:
    """Do what is asked and return the JSON for the page.

    Raises:
        NotFound, SessionTaken, TurnRunning: see gatekeeping. BadBody. PanelError.
    """
    return _DO[errand.match.action](errand)


class Asking:
    """Asks OpenHub as one person. A token that no longer counts is replaced once: what it refused was not done."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._hub = OpenHub(panel.connection())

    def json(self, method: str, path: str, **parts: Any) -> Mapping[str, Any]:
        """Return the JSON object of a successful answer. Raises PanelError."""
        identity = provisioning.ensure_identity(self._visit)
        answer = self._once(identity, method, path, parts)
        if answer.status == 401:
            answer = self._once(identity, method, path, parts)
        if answer.status >= 500 or answer.status == 401:
            raise PanelUnavailable(layer=LAYER, reason=f"status {answer.status}")
        if not answer.is_ok:
            raise PanelRefused(layer=LAYER, status=answer.status)
        return self._hub.read(answer)

    def _once(self, identity: PanelIdentity, method: str, path: str, parts: Mapping[str, Any]) -> Answer:
        token = mint(self._hub, identity)
        try:
            return self._hub.ask(method, path, token=token, **parts)
        finally:
            self._hub.drop_token(token)


def mint(hub: OpenHub, identity: PanelIdentity) -> str:
    """Make a token of a person's OpenHub user. Raises PanelUnavailable."""
    return hub.token_for(user_id=identity.openhub_user_id, username=identity.openhub_username, now=timezone.now())


def abort(visit: Visit) -> bool:
    """Stop the turn of a visit's conversation, and say whether there was one to stop. Raises PanelError.

    OpenHub gives a turn up after a minute of silence while opencode still works: then opencode is told itself.
    """
    if opencodes.is_direct(visit):
        return direct.abort(visit)
    if not visit.session_id:
        return False
    body = {"question": "abort", "conversation_id": visit.session_id}
    found = Asking(visit).json("POST", "/api/query/abort", json=body)
    if found.get("success") is True:
        return True
    opencode, directory = opencodes.opencode_of(visit), visit.directory
    if not opencode.is_busy(visit.session_id, directory=directory):
        return False
    opencode.abort(visit.session_id, directory=directory)
    return True


def _me(errand: Errand) -> Mapping[str, Any]:
    Asking(errand.visit).json("GET", errand.match.path)
    return {"success": True, "data": {"username": errand.visit.principal.user.shown_name, "is_admin": False}}


def _health(errand: Errand) -> Mapping[str, Any]:
    return {"status": str(Asking(errand.visit).json("GET", errand.match.path).get("status", "unhealthy"))}


def _models(errand: Errand) -> Mapping[str, Any]:
    """An empty list where models are permitted means that OpenHub no longer knows this user."""
    found = Asking(errand.visit).json("GET", errand.match.path)
    identity = provisioning.ensure_identity(errand.visit)
    if _mapping(found, "data").get("models") or not identity.permitted_json:
        return found
    provisioning.forget_identity(identity)
    return Asking(errand.visit).json("GET", errand.match.path)


def _plain(errand: Errand) -> Mapping[str, Any]:
    """Things of the runtime identity: one user of OpenHub's, so there is nobody else's to be reached."""
    asked = {name: value for name, value in errand.query.items() if name in errand.match.route.query}
    if errand.match.action is Action.SKILL and asked.get("enabled") not in {"true", "false"}:
        raise bodies.BadBody("enabled")
    found = Asking(errand.visit).json(errand.match.route.method, errand.match.path, params=asked)
    return _freed(errand, found)


def _sessions(errand: Errand) -> Mapping[str, Any]:
    own = gatekeeping.only_own(errand.visit, _all_sessions(errand.visit))
    page = _number(errand.query.get("page"), default=1)
    size = min(_number(errand.query.get("page_size"), default=10), _MAX_SHOWN)
    shown = own[(page - 1) * size : page * size]
    pagination = {"page": page, "page_size": size, "total": len(own), "has_more": page * size < len(own)}
    return _freed(errand, {"success": True, "data": shown, "pagination": pagination})


def _all_sessions(visit: Visit) -> list[Mapping[str, Any]]:
    asking = Asking(visit)
    listed: list[Mapping[str, Any]] = []
    for page in range(1, _MAX_PAGES + 1):
        found = asking.json("GET", "/api/sessions", params={"page": page, "page_size": _PAGE_SIZE})
        rows = _rows(found)
        listed += rows
        if not rows or _mapping(found, "pagination").get("has_more") is not True:
            break
    return listed


def _messages(errand: Errand) -> Mapping[str, Any]:
    gatekeeping.owned(errand.visit, errand.match.ids["session_id"])
    try:
        found = Asking(errand.visit).json("GET", errand.match.path)
    except PanelRefused as error:
        if error.status not in {403, 404}:
            raise
        # Made here, but never asked a question: OpenHub hears of a session with its first.
        return {"success": True, "data": [], "is_processing": False}
    # OpenHub sorts by whole seconds, which shuffles the messages of one.
    ordered = sorted(_rows(found), key=lambda each: _number(each.get("db_id"), default=0, least=0))
    return _freed(errand, {"success": True, "data": ordered, "is_processing": found.get("is_processing") is True})


def _image(errand: Errand) -> Mapping[str, Any]:
    """OpenHub numbers images through and gives each to anybody: only those that this conversation shows are given."""
    session_id = gatekeeping.pinned(errand.visit, "")
    found = Asking(errand.visit).json("GET", f"/api/sessions/{session_id}/messages")
    if int(errand.match.ids["image_id"]) not in _image_ids(_rows(found)):
        raise NotFound
    return _freed(errand, Asking(errand.visit).json("GET", errand.match.path))


def _image_ids(messages: list[Mapping[str, Any]]) -> set[int]:
    listed = [images for each in messages for images in (each.get("images"), _mapping(each, "metadata").get("images"))]
    images = [image for each in listed if isinstance(each, list) for image in each if isinstance(image, dict)]
    return {image["id"] for image in images if isinstance(image.get("id"), int)}


def _undo(errand: Errand) -> Mapping[str, Any]:
    gatekeeping.require_active(errand.visit)
    gatekeeping.pinned(errand.visit, errand.match.ids["session_id"])
    if turns.standing(binding_id=errand.visit.binding.pk).is_running:
        raise TurnRunning
    return _freed(errand, Asking(errand.visit).json("DELETE", errand.match.path))


def _archive(errand: Errand) -> Mapping[str, Any]:
    """OpenHub would delete the messages for good. Here the conversation is put away, and can be taken up again."""
    binding = gatekeeping.owned(errand.visit, bodies.conversation_of(errand.body, "session_id"))
    visit = gatekeeping.enter(principal=errand.visit.principal, binding_id=binding.pk)
    if turns.standing(binding_id=binding.pk).is_running:
        abort(visit)
    bindings.archive(binding=binding, by=errand.visit.principal)
    return {"success": True, "message": _("The conversation was put away.")}


def _abort(errand: Errand) -> Mapping[str, Any]:
    gatekeeping.pinned(errand.visit, bodies.conversation_of(errand.body))
    is_stopped = abort(errand.visit)
    return {"success": is_stopped, "message": _("Stopped.") if is_stopped else _("Nothing is running.")}


def _answer(errand: Errand) -> Mapping[str, Any]:
    """OpenHub would ask opencode in the wrong folder and say that all is well; so opencode is told here."""
    wanted, visit = errand.match.ids["question_id"], errand.visit
    answers = bodies.answers_of(errand.body)
    if not routes.is_id("question_id", wanted) or not visit.session_id:
        raise NotFound
    opencode, directory = opencodes.opencode_of(visit), visit.directory
    waiting = opencode.question_requests(directory=directory)
    if wanted not in {each.id for each in waiting if each.session_id == visit.session_id}:
        raise NotFound
    if not opencode.answer(wanted, directory=directory, answers=answers):
        raise NotFound
    runs.note_answer(binding=visit.binding, kind="question", request_id=wanted, how="answered")
    turns.touch(binding_id=visit.binding.pk)
    return {"success": True, "message": _("Your answer was passed on."), "error": None}


def _freed(errand: Errand, found: Mapping[str, Any]) -> Mapping[str, Any]:
    freed: Mapping[str, Any] = journals.scrub_of(errand.visit).value(dict(found))
    return freed


def _rows(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = found.get("data")
    if not isinstance(rows, list):
        raise PanelProtocolError(layer=LAYER, reason="no list")
    return [each for each in rows if isinstance(each, dict)]


def _mapping(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def _number(given: Any, *, default: int, least: int = 1) -> int:
    """Read a whole number that is not below `least`; what is none is the default."""
    text = str(given)
    return max(int(text), least) if text.isascii() and text.isdigit() and len(text) < 12 else default


_DO: Mapping[Action, Callable[[Errand], Mapping[str, Any]]] = {
    Action.ME: _me,
    Action.MODELS: _models,
    Action.HEALTH: _health,
    Action.SESSIONS: _sessions,
    Action.MESSAGES: _messages,
    Action.IMAGE: _image,
    Action.UNDO: _undo,
    Action.ARCHIVE: _archive,
    Action.ABORT: _abort,
    Action.ANSWER: _answer,
    Action.SKILLS: _plain,
    Action.SKILL: _plain,
    Action.SYNC_SKILLS: _plain,
    Action.MEMORY: _plain,
}
