"""What people read of runs: how one stands, why it ended, and what happened in it, in the active language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from pageai.tool_catalogue import TOOLS

#: By status or reason: the lamp's shape, one word, and a sentence.
_STANDING: Mapping[str, tuple[str, str | Promise, str | Promise]] = {
    "pending": ("queued", gettext_lazy("announced"), gettext_lazy("The question was not asked yet.")),
    "running": ("parsing", gettext_lazy("working"), gettext_lazy("The assistant works on it.")),
    "interrupted": (
        "stale",
        pgettext_lazy("run", "waiting"),
        gettext_lazy("The assistant waits for an answer, or could not be heard for a moment."),
    ),
    "done": ("indexed", pgettext_lazy("run", "finished"), gettext_lazy("The assistant finished.")),
    "failed": ("failed", pgettext_lazy("run", "failed"), gettext_lazy("The assistant could not finish.")),
    "cut": ("failed", gettext_lazy("broke off"), gettext_lazy("The answer broke off before its end.")),
    "cancelled": ("deleted", gettext_lazy("stopped"), gettext_lazy("It was stopped.")),
    "signed_out": (
        "deleted",
        gettext_lazy("stopped"),
        gettext_lazy("It was stopped because its person may no longer work here."),
    ),
    "lost": (
        "failed",
        pgettext_lazy("run", "lost"),
        gettext_lazy("The assistant was gone before it finished. What it had done by then is listed."),
    ),
}
_ANSWERS: Mapping[str, str | Promise] = {
    "allowed": gettext_lazy("Allowed once."),
    "declined": gettext_lazy("Declined."),
    "answered": gettext_lazy("Answered."),
    "dismissed": gettext_lazy("Left unanswered."),
    "gone": gettext_lazy("Nobody answered; the request is gone."),
    "ended": gettext_lazy("The run ended before anybody answered, so it was not done."),
    "lost": gettext_lazy("The assistant's program was gone before anybody answered, so it was not done."),
}
_STATES: Mapping[str, str | Promise] = {
    "retry": gettext_lazy("The model did not answer; it was asked again."),
    "model": gettext_lazy("Another model took over."),
    "interrupted": gettext_lazy("The assistant could not be heard for a moment."),
    "omitting": gettext_lazy("So much happened that the rest is not listed."),
}


def lamp_of(state: str) -> str:
    """Return the lamp of a status, or of a reason once there is one."""
    return _STANDING[state][0]


def word_of(state: str) -> str:
    return str(_STANDING[state][1])


def sentence_of(state: str) -> str:
    return str(_STANDING[state][2])


def tool_of(name: str) -> str:
    """Return what a tool is called: ours by their titles, others by the name that opencode gives them."""
    ours = name.partition("_mnote_")[2]
    return next((tool.title for tool in TOOLS if ours and tool.name == f"mnote.{ours.replace('_', '.', 1)}"), name)


def told(kind: str, payload: Mapping[str, Any]) -> str:
    """Say one event as a sentence, "" for one that needs none."""
    match kind:
        case "permission.requested":
            about = payload.get("path") or payload.get("about") or ""
            if payload.get("permission") == "edit":
                return _("It asked to change %(what)s.") % {"what": about}
            return _("It asked for %(permission)s: %(what)s") % {
                "permission": payload.get("permission", ""), "what": about,
            }  # fmt: skip
        case "question.asked":
            return " ".join(str(each.get("text", "")) for each in payload.get("questions", ()))
        case "permission.answered" | "question.answered":
            return str(_ANSWERS.get(str(payload.get("answer")), ""))
        case "session.info.updated":
            return str(_STATES.get(str(payload.get("state")), ""))
        case "error":
            return str(payload.get("message", ""))
    return ""
