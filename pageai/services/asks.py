"""What the agent of a conversation asks its person: leave to change a file or run something, and questions.

opencode keeps the requests; nothing is stored here. Each is looked up among those of the caller's own session, and the
right to write is looked at again at the moment of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from mnote.exceptions import Forbidden, Invalid, NotFound
from mnote.selectors import access
from mnote.services import audit
from pageai.panel.opencode import QuestionRequest, Request
from pageai.panel.veil import Veil
from pageai.services import changes, chats, runs, turns
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import opencode_of, running

_GONE = gettext_lazy("The assistant does not wait for this any more: it was answered elsewhere, or its work has ended.")
_DECLINED = "The person declined this. Go on without it, or ask what they want instead."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A permission request for a page to show. `path` is below the root, "" when the request is about no file of it."""

    id: str
    permission: str
    path: str = ""
    diff: str = ""
    about: str = ""
    call_id: str = ""

    @property
    def is_change(self) -> bool:
        return self.permission == "edit" and bool(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Everything that waits for the person."""

    asks: tuple[Ask, ...] = ()
    questions: tuple[QuestionRequest, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.asks or self.questions)


def waiting(visit: Visit, *, is_patient: bool = True) -> Waiting:
    """Ask opencode what waits for the person of this conversation; a busy machine may take its time. Raises
    PanelError."""
    if not visit.session_id or chats.is_chat(visit.binding):
        return Waiting()
    opencode, directory = running(visit), visit.directory
    if opencode is None:
        return Waiting()
    requests = opencode.permission_requests(directory=directory, is_patient=is_patient)
    questions = opencode.question_requests(directory=directory, is_patient=is_patient)
    own = [each for each in requests if each.session_id == visit.session_id]
    asked = [each for each in questions if each.session_id == visit.session_id]
    return Waiting(asks=tuple(_ask(visit, each) for each in own), questions=tuple(asked))


def allow(visit: Visit, ask_id: str) -> None:
    """Allow one request, once.

    Raises:
        NotFound: it does not wait, or for somebody else. Forbidden: the person may not write there. PanelError.
    """
    ask = _waiting_ask(visit, ask_id)
    if ask.permission == "edit" and not _may_write(visit, ask.path):
        _decline(visit, ask)
        raise Forbidden
    if ask.is_change:  # afterwards nobody can tell what was there
        changes.note_before(visit, call_id=ask.call_id, path=ask.path, diff=ask.diff)
    if not opencode_of(visit).allow_once(ask.id, directory=visit.directory):
        raise NotFound(_GONE)
    _record(visit, "panel.allow", ask, "allowed")


def decline(visit: Visit, ask_id: str) -> None:
    """Decline one request; the agent goes on without. Raises NotFound, PanelError."""
    _decline(visit, _waiting_ask(visit, ask_id))


def answer(visit: Visit, request_id: str, answers: Sequence[Sequence[str]]) -> None:
    """Answer a question of the agent.

    Raises:
        NotFound: it does not wait, or for somebody else. Invalid: nothing was chosen. PanelError.
    """
    request = _waiting_question(visit, request_id)
    if not any(answers):
        raise Invalid(_("Choose an answer, or write one."))
    if not opencode_of(visit).answer(request.id, directory=visit.directory, answers=answers):
        raise NotFound(_GONE)
    runs.note_answer(binding=visit.binding, kind="question", request_id=request.id, how="answered")
    turns.touch(binding_id=visit.binding.pk)


def dismiss(visit: Visit, request_id: str) -> None:
    """Leave a question of the agent unanswered. Raises NotFound, PanelError."""
    request = _waiting_question(visit, request_id)
    if not opencode_of(visit).dismiss(request.id, directory=visit.directory):
        raise NotFound(_GONE)
    runs.note_answer(binding=visit.binding, kind="question", request_id=request.id, how="dismissed")
    turns.touch(binding_id=visit.binding.pk)


def _decline(visit: Visit, ask: Ask) -> None:
    if not opencode_of(visit).decline(ask.id, directory=visit.directory, message=_DECLINED):
        raise NotFound(_GONE)
    _record(visit, "panel.decline", ask, "declined")


def _record(visit: Visit, action: str, ask: Ask, how: str) -> None:
    runs.note_answer(binding=visit.binding, kind="permission", request_id=ask.id, how=how)
    audit.record(
        principal=visit.principal,
        action=action,
        workspace=visit.binding.workspace,
        target=ask.path or ask.permission,
        facts={"permission": ask.permission, "binding": visit.binding.pk},
    )
    turns.touch(binding_id=visit.binding.pk)


def _waiting_ask(visit: Visit, ask_id: str) -> Ask:
    found = next((each for each in waiting(visit).asks if each.id == ask_id), None)
    if found is None:
        raise NotFound(_GONE)
    return found


def _waiting_question(visit: Visit, request_id: str) -> QuestionRequest:
    found = next((each for each in waiting(visit).questions if each.id == request_id), None)
    if found is None:
        raise NotFound(_GONE)
    return found


def _may_write(visit: Visit, path: str) -> bool:
    return bool(path) and access.access_map(visit.principal, visit.root).may_write(path)


def _ask(visit: Visit, request: Request) -> Ask:
    veil = Veil(visit.directory)
    path = changes.relative(visit, request.path) if request.path else ""
    return Ask(
        id=request.id,
        permission=request.permission,
        path=path,
        diff=veil.text(request.diff),
        call_id=request.call_id,
        about=veil.text(request.command or ", ".join(request.patterns)),
    )
