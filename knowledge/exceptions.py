"""Errors of the knowledge app, on the one tree."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from knowledge.providers.base import ProviderError
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


class ProviderTimedOut(ProviderFailed):
    code = "provider-timeout"
    status = 504
    title = _("The indexing service answers too slowly")


class ProviderRefused(ProviderFailed):
    """The service will not take this content; asking again does not help."""

    code = "provider-rejected"
    status = 422
    title = _("The indexing service refused this")
    retryable = False


class ProviderNotSetUp(ProviderFailed):
    code = "provider-misconfigured"
    status = 502
    title = _("The indexing service is not set up correctly")
    retryable = False


class ProviderUnclear(ProviderFailed):
    code = "provider-protocol"
    status = 502
    title = _("The indexing service answered in an unknown way")
    retryable = False


class ProviderBroken(ProviderFailed):
    code = "provider-error"
    status = 502
    title = _("The indexing service reported a failure")
    retryable = False


class StaleVersion(base.AppError):
    """Somebody else changed it since the caller looked (If-Match)."""

    code = "stale-version"
    status = 412
    title = _("This was changed meanwhile")


class QuotaExceeded(base.TooLarge):
    code = "quota-exceeded"
    title = _("The workspace has no room left for uploads")


class ContentMismatch(base.UnsupportedType):
    """The bytes are not what the name says."""

    code = "content-mismatch"
    title = _("The content is not what the file name says")


class FolderNotWritable(base.Conflict):
    code = "folder-not-writable"
    title = _("No new file can be written into this folder")


class DiskFull(base.ServiceUnavailable):
    code = "disk-full"
    title = _("The disk of the server is full")


class WebImportNotAllowed(base.Forbidden):
    code = "web-import-not-allowed"
    title = _("Web addresses may not be fetched in this workspace")


class AddressNotAllowed(base.Unprocessable):
    """A web address that must not be fetched: wrong scheme or port, or not on the public Internet."""

    code = "address-not-allowed"
    title = _("This address may not be fetched")


class AddressFailed(base.AppError):
    """The address was asked and gave no usable page; asking again does not help."""

    code = "address-failed"
    status = 502
    title = _("This address could not be fetched")


class AddressUnreachable(AddressFailed):
    """The address did not answer, or not in time."""

    code = "address-unreachable"
    title = _("This address does not answer")
    retryable = True


_PROVIDER_ERRORS: dict[str, type[ProviderFailed]] = {
    each.code: each
    for each in (ProviderFailed, ProviderTimedOut, ProviderRefused, ProviderNotSetUp, ProviderUnclear, ProviderBroken)
}


def public_error(error: ProviderError) -> ProviderFailed:
    """Return what a caller may know of a provider's failure: its code and our sentence, never its message."""
    kind = _PROVIDER_ERRORS.get(error.code, ProviderFailed if error.retryable else ProviderBroken)
    facts: dict[str, Any] = {}
    if error.retry_after:
        facts["retry_after"] = max(1, round(error.retry_after))
    if error.since:
        facts["since"] = error.since.isoformat()
    return kind(**facts)
