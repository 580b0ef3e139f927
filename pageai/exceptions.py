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


class ResultTooLarge(base.AppError):
    code = "result-too-large"
    status = 413
    title = _("The result is too large; ask for less")
