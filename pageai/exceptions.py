"""Errors of Page AI, on the one tree."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from mnote import exceptions as base


class TrashFolder(base.Conflict):
    """The panel works in folders that people keep, never in what they threw away."""

    code = "trash-folder"
    title = _("This page lies in a trash folder")


class SessionTaken(base.Conflict):
    """A conversation belongs to one page of one person."""

    code = "session-taken"
    title = _("This conversation belongs to another page")


class UnknownTool(base.NotFound):
    """No such tool, or none for this caller: the two look the same."""

    code = "unknown-tool"
    title = _("There is no tool of this name")


class ToolTimeout(base.AppError):
    code = "tool-timeout"
    status = 504
    title = _("The tool took too long")
    retryable = True


class PanelNotConfigured(base.ServiceUnavailable):
    """No OpenHub was set up."""

    code = "panel-not-configured"
    title = _("The AI panel is not set up here")
    retryable = False


class PanelSwitchedOff(base.Conflict):
    """An administrator does not want the panel in this workspace."""

    code = "panel-off"
    title = _("The AI panel is switched off in this workspace")


class PanelDown(base.ServiceUnavailable):
    """A layer behind the panel does not answer. `extra["layer"]` is its key of the health answer."""

    code = "panel-unavailable"
    title = _("The assistant cannot be reached right now")


class PanelConfused(base.AppError):
    """A layer behind the panel answered what nobody can use."""

    code = "panel-protocol"
    status = 502
    title = _("The assistant gave an answer that cannot be used")


class PanelUnsafe(base.AppError):
    """OpenHub would work in a folder that is none of its business."""

    code = "panel-unsafe"
    status = 502
    title = _("OpenHub is set up in a way that would endanger people's folders")


class FolderNotForAgents(base.Conflict):
    """opencode knows folders by their text; this one has none."""

    code = "folder-not-for-agents"
    title = _("The name of this folder cannot be told to the assistant")


class TurnRunning(base.Conflict):
    """A conversation answers one question at a time."""

    code = "turn-running"
    title = _("The assistant is still working on the last question")


class ConversationPutAway(base.Conflict):
    """Only the conversation that a page shows now takes questions."""

    code = "conversation-put-away"
    title = _("This conversation was put away")


class ConversationGone(base.Gone):
    """opencode no longer has the session."""

    code = "conversation-gone"
    title = _("The assistant no longer has this conversation; start a new one")


class ModelNotPermitted(base.Forbidden):
    code = "model-not-permitted"
    title = _("This model may not be used in this workspace")


class AgentNotStarted(base.ServiceUnavailable):
    """The opencode of a person and root does not run. `extra["reason"]` says why."""

    code = "agent-not-started"
    title = _("The assistant's program does not run")
