"""Errors of the knowledge app, on the one tree."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from mnote import exceptions as base


class RootNotFound(base.NotFound):
    code = "root_not_found"
    title = _("This folder is not available")


class EvidenceNotFound(base.NotFound):
    code = "evidence_not_found"
    title = _("This passage is not available")


class LocatorInvalid(base.AppError):
    code = "locator_invalid"
    status = 400
    title = _("This reference cannot be read")


class LocatorStale(base.Gone):
    code = "locator_stale"
    title = _("This passage is no longer current")


class AmbiguousReference(base.Unprocessable):
    """A hint that fits several places; `candidates` lists them."""

    code = "ambiguous-reference"
    title = _("This reference fits more than one place")


class IndexBuilding(base.ServiceUnavailable):
    code = "index_building"
    title = _("The index is still being built")


class SyncInProgress(base.Conflict):
    code = "sync-in-progress"
    title = _("A sync is already running")


class NameTaken(base.Conflict):
    code = "name-taken"
    title = _("This name is taken")


class ProviderFailed(base.AppError):
    """The indexing service failed; the sentence names no address."""

    code = "provider-unavailable"
    status = 503
    title = _("The indexing service does not answer")
    retryable = True
