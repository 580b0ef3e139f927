"""Conversations with a chat model that has no tools: it is told what was said before, and nothing of page or folder.

There is nobody else who keeps such a conversation: what goes along with a question is what the run journal still has.
"""

from __future__ import annotations

from django.conf import settings

from pageai.exceptions import PanelNotConfigured
from pageai.models import EventKind, EventSource, OpenHubBinding, Run, RunEvent
from pageai.panel import chat_model
from pageai.panel.chat_model import ChatModel
from pageai.panel.drafts import Draft
from pageai.panel.upstream import Call
from pageai.selectors.agent_settings import agent_of
from pageai.services import bindings, gatekeeping, journals, run_hashes, runs, settling, turns
from pageai.services.gatekeeping import Visit
from pageai.services.runs import Wanted

PROVIDER = "chat_only"
_MAX_KEPT_QUESTION, _MAX_BEFORE = 3_500, 10


def is_chat(binding: OpenHubBinding) -> bool:
    """Say whether a conversation is with the chat model."""
    agent = agent_of(binding)
    return agent is not None and agent.provider == PROVIDER


def prepare(visit: Visit, question: str, *, request_id: str = "") -> Run:
    """Claim the conversation for a question and return its run.

    Raises:
        PanelNotConfigured: no chat model. ConversationPutAway, FolderNotForAgents. TurnRunning: one at a time.
    """
    gatekeeping.require_active(visit)
    _model()
    if not visit.session_id:
        bindings.attach_sessions(binding=visit.binding, openhub_session_id=f"chat_{visit.binding.pk}")
    wanted = _wanted(visit, question, request_id)
    turns.begin(binding=visit.binding, question=question)
    try:
        settling.settle_before(visit)
        return runs.begin(binding=visit.binding, wanted=wanted)
    except BaseException:
        turns.end(binding_id=visit.binding.pk)
        raise


def call_for(run: Run, question: str) -> Call:
    """Return the request that asks the question, after what was said before. Raises PanelNotConfigured."""
    earlier = Run.objects.filter(binding=run.binding, provider=PROVIDER, created_at__lt=run.created_at)
    before = [message for each in reversed(earlier.order_by("-created_at")[:_MAX_BEFORE]) for message in _said(each)]
    return chat_model.call_of(_model(), [*before, {"role": "user", "content": question}])


def question_of(run: Run) -> str:
    """Return what was asked, as far as the journal has it."""
    created = RunEvent.objects.filter(run=run, kind=EventKind.RUN_CREATED).first()
    return str(created.payload.get("question", "") if created else "") or run.title


def words(run: Run, text: str, offset: int, length: int) -> Draft:
    """Make the event of a piece of the answer: where it begins, and how long it was before it was cleaned."""
    payload = {"messageId": run.pk, "partId": run.pk, "offset": offset, "length": length, "text": text}
    key = f"text:{run.pk}:{offset}"
    return Draft(kind="message.delta", payload=payload, source=EventSource.CHAT_ONLY, key=key)


def _said(run: Run) -> list[dict[str, str]]:
    rows = RunEvent.objects.filter(run=run, kind=EventKind.MESSAGE_DELTA).order_by("seq")
    answer = "".join(str(payload.get("text", "")) for payload in rows.values_list("payload", flat=True))
    asked = {"role": "user", "content": question_of(run)}
    return [asked, {"role": "assistant", "content": answer}] if answer else []


def _wanted(visit: Visit, question: str, request_id: str) -> Wanted:
    cleaned = journals.scrub_of(visit).text(question)
    return Wanted(
        request_id=request_id,
        agent_id=PROVIDER,
        provider=PROVIDER,
        title=cleaned[:500],
        target=run_hashes.target_of(visit),
        capability=run_hashes.capability_of(visit),
        facts={"question": cleaned[:_MAX_KEPT_QUESTION]},
    )


def _model() -> ChatModel:
    if not (settings.MNOTE_CHAT_MODEL_URL and settings.MNOTE_CHAT_MODEL):
        raise PanelNotConfigured
    return ChatModel(
        url=settings.MNOTE_CHAT_MODEL_URL, name=settings.MNOTE_CHAT_MODEL, key=settings.MNOTE_CHAT_MODEL_KEY
    )
