"""Why a document is where it is: one table from reason code to class and to sentences for people.

Pages, API, admin and docs read it; nobody words a reason anywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from knowledge.models.documents import ReasonClass


@dataclass(frozen=True, slots=True)
class Reason:
    """`sentence` says what happened, `next_step` what to do; `retry` whether we try again by ourselves."""

    reason_class: ReasonClass
    sentence: str | Promise
    next_step: str | Promise
    retry: bool = False


_REPLACE = _("Replace the file; it will be picked up by itself.")
_NOTHING = _("Nothing to do; it is tried again by itself.")
_ASK = _("Ask an administrator.")
_RULES = _("Change the rules of the source if it should be included.")

FILE, TEMPORARY, ACCESS = ReasonClass.FILE, ReasonClass.TEMPORARY, ReasonClass.ACCESS
SERVICE, CONFIGURATION = ReasonClass.SERVICE, ReasonClass.CONFIGURATION

REASONS: dict[str, Reason] = {
    # what parsing said
    "encrypted": Reason(FILE, _("Needs a password."), _("Save the file without a password.")),
    "corrupt": Reason(FILE, _("The file is damaged or not what its name says."), _REPLACE),
    "empty": Reason(FILE, _("The file is empty."), _("It is picked up when something is written into it.")),
    "no_text": Reason(FILE, _("No text was found in it, perhaps a scan."), _("Add a text version beside it.")),
    "too_large": Reason(FILE, _("Too large to be read."), _("Split the file, or raise the limit of the source.")),
    "needs_encoding": Reason(FILE, _("Its text encoding could not be recognised."), _("Save it as UTF-8.")),
    "unsupported_type": Reason(FILE, _("This type of file is not read."), _RULES),
    "parse_failed": Reason(FILE, _("Reading the file failed."), _("Retry, or replace the file.")),
    "parse_timeout": Reason(FILE, _("Reading the file took too long."), _("Split the file, then retry.")),
    # what happened around it
    "source_changed_while_parsing": Reason(
        TEMPORARY, _("The file was being written while it was read."), _NOTHING, retry=True
    ),
    "worker_lost": Reason(TEMPORARY, _("The work was interrupted."), _NOTHING, retry=True),
    "disk_full": Reason(SERVICE, _("The disk of the server is full."), _ASK, retry=True),
    "disk_error": Reason(SERVICE, _("A disk of the server failed to read or write."), _ASK, retry=True),
    "internal": Reason(
        TEMPORARY, _("Something unexpected went wrong."), _("Retry; if it stays, ask an administrator.")
    ),
    "stopped": Reason(TEMPORARY, _("Stopped by hand."), _("Retry when you want it indexed.")),
    "unreadable": Reason(
        ACCESS, _("The file cannot be read by the server."), _("Check the rights of the file."), retry=True
    ),
    "root_gone": Reason(ACCESS, _("The folder is not reachable right now."), _NOTHING, retry=True),
    "file_gone": Reason(FILE, _("The file is no longer there."), _("Nothing to do; its index copy is removed.")),
    "invalid_path": Reason(FILE, _("The name of the file cannot be used."), _("Rename the file.")),
    "not_a_file": Reason(FILE, _("This is not a regular file."), _RULES),
    "provider-unavailable": Reason(SERVICE, _("The indexing service does not answer."), _NOTHING, retry=True),
    "provider-waiting": Reason(TEMPORARY, _("It waits its turn at the indexing service."), _NOTHING, retry=True),
    "provider-working": Reason(TEMPORARY, _("The indexing service is at work on it."), _NOTHING, retry=True),
    "provider-trying-again": Reason(
        TEMPORARY,
        _("The reader of the indexing service fails; the service tries it again for some minutes."),
        _("Nothing to do now. If many files stay like this, an administrator has to look at the reader."),
        retry=True,
    ),
    "provider-finishing": Reason(
        TEMPORARY, _("It can be searched; the indexing service still adds to it."), _NOTHING, retry=True
    ),
    "provider-copy-gone": Reason(
        SERVICE, _("The indexing service lost its copy; it is handed over again."), _NOTHING, retry=True
    ),
    "provider-not-there": Reason(
        SERVICE, _("The indexing service does not know it any more; it is handed over again."), _NOTHING, retry=True
    ),
    "provider-cancelled": Reason(
        SERVICE, _("Somebody stopped it at the indexing service; it is handed over again."), _NOTHING, retry=True
    ),
    "interrupted": Reason(
        SERVICE, _("The indexing service was restarted while it was at work on it."), _NOTHING, retry=True
    ),
    "stalled": Reason(
        SERVICE, _("The indexing service made no progress with it; it is handed over again."), _NOTHING, retry=True
    ),
    "index-collision": Reason(
        SERVICE, _("Two documents got in each other's way at the indexing service."), _NOTHING, retry=True
    ),
    "passages-missing": Reason(
        SERVICE, _("The indexing service lost its passages; they are made again."), _NOTHING, retry=True
    ),
    "provider-embedder": Reason(
        SERVICE,
        _("The embedding model behind the indexing service does not work."),
        _("It is tried again by itself. If it stays, ask an administrator to look at the model."),
        retry=True,
    ),
    "provider-embedder-refused": Reason(
        SERVICE,
        _("The embedding model behind the indexing service does not take this text, though it takes others."),
        _("Divide very long tables or code blocks, or ask an administrator for a model that takes longer texts."),
        retry=True,
    ),
    "provider-model-missing": Reason(
        CONFIGURATION,
        _("The indexing service has no embedding model for this knowledge base."),
        _("An administrator has to enter a model that exists there."),
        retry=True,
    ),
    "provider-reader": Reason(
        SERVICE,
        _("The indexing service could not read it."),
        _("Retry. If it stays, ask an administrator."),
        retry=True,
    ),
    "provider-reader-missing": Reason(
        CONFIGURATION,
        _("The indexing service lacks the part that reads files of this type."),
        _("An administrator has to set it up, or the knowledge base reads files itself."),
    ),
    "provider-type": Reason(
        FILE,
        _("The indexing service does not read files of this type."),
        _("Let MNote read the files of this knowledge base, or leave such files out."),
    ),
    "provider-vision-missing": Reason(
        CONFIGURATION,
        _("The indexing service has no model that reads pictures."),
        _("An administrator has to enter one in the provider profile, then retry."),
    ),
    "provider-vision": Reason(
        SERVICE,
        _("The model for pictures behind the indexing service does not work."),
        _("It is tried again by itself. If it stays, ask an administrator to look at the model."),
        retry=True,
    ),
    "provider-read-failed": Reason(FILE, _("The indexing service could not read this file."), _REPLACE),
    "provider-failed": Reason(
        SERVICE, _("The indexing service could not process it and does not say why."), _("Retry."), retry=True
    ),
    "provider-server-error": Reason(SERVICE, _("The indexing service failed."), _NOTHING, retry=True),
    "provider-quota": Reason(
        CONFIGURATION,
        _("The indexing service has no room left for us."),
        _("An administrator has to make room there; work goes on by itself then."),
        retry=True,
    ),
    "provider-scope": Reason(
        CONFIGURATION, _("This knowledge base belongs to somebody else at the indexing service."), _ASK, retry=True
    ),
    "provider-key-limited": Reason(
        CONFIGURATION,
        _("The key for the indexing service is limited to other knowledge bases."),
        _("An administrator has to enter a key without such a list."),
        retry=True,
    ),
    "provider-id-taken": Reason(
        SERVICE, _("The indexing service uses this id for something else."), _NOTHING, retry=True
    ),
    "provider-duplicate": Reason(
        SERVICE, _("The indexing service has the same text already, but cannot give it."), _("Retry."), retry=True
    ),
    "provider-clash": Reason(
        CONFIGURATION,
        _("Somebody put the same text into our place at the indexing service, with other settings."),
        _("An administrator has to remove it there, then retry."),
    ),
    "provider-query": Reason(SERVICE, _("The indexing service could not search for this."), _("Use other words.")),
    "index_moved": Reason(
        SERVICE, _("The index was lost at the indexing service; all is indexed again."), _NOTHING, retry=True
    ),
    "provider-timeout": Reason(SERVICE, _("The indexing service answers too slowly."), _NOTHING, retry=True),
    "provider-busy": Reason(TEMPORARY, _("The indexing service is busy with other documents."), _NOTHING, retry=True),
    "provider-deleting": Reason(
        TEMPORARY, _("The indexing service is still removing the older version."), _NOTHING, retry=True
    ),
    "provider-auth": Reason(CONFIGURATION, _("The indexing service does not accept our key."), _ASK, retry=True),
    "provider-rights": Reason(CONFIGURATION, _("The key for the indexing service may not do this."), _ASK, retry=True),
    "provider-kb-unusable": Reason(
        SERVICE, _("The indexing service lost this knowledge base; it is made anew."), _NOTHING, retry=True
    ),
    "provider-rejected": Reason(FILE, _("The indexing service refused the file."), _("Retry, or replace the file.")),
    "provider-misconfigured": Reason(
        CONFIGURATION, _("The indexing service is not set up correctly."), _ASK, retry=True
    ),
    "provider-protocol": Reason(SERVICE, _("The indexing service answered in an unknown way."), _ASK, retry=True),
    "provider-error": Reason(SERVICE, _("The indexing service reported a failure."), _("Retry.")),
    "index-busy": Reason(SERVICE, _("The index is in use by other work."), _NOTHING, retry=True),
    "index-disk-full": Reason(SERVICE, _("The disk that holds the index is full."), _ASK, retry=True),
    "index-disk-error": Reason(SERVICE, _("The disk that holds the index failed to read or write."), _ASK, retry=True),
    "index-damaged": Reason(SERVICE, _("The index was damaged and is built anew."), _NOTHING, retry=True),
    "index-not-writable": Reason(CONFIGURATION, _("The index cannot be written."), _ASK, retry=True),
    # why it is, or no longer is, indexed
    "index_lost": Reason(SERVICE, _("The index lost it; it is read again."), _NOTHING, retry=True),
    "reader_changed": Reason(SERVICE, _("Files of its type are read in a better way now."), _NOTHING, retry=True),
    "reading_changed": Reason(
        TEMPORARY,
        _("Files of this knowledge base are read by another from now on; it is read again."),
        _NOTHING,
        retry=True,
    ),
    # why it is not, or no longer, included
    "source_removed": Reason(FILE, _("Its source was removed from the knowledge base."), _("Add the source again.")),
    "excluded_by_hand": Reason(FILE, _("Excluded from this knowledge base by hand."), _("Include it again if wanted.")),
    "index_cleared": Reason(
        FILE, _("The index of this knowledge base was cleared."), _("Resume the sync to read it again.")
    ),
    "missing": Reason(FILE, _("The file is no longer in its place."), _("Put it back to keep it searchable.")),
    "settings_changed": Reason(CONFIGURATION, _("The settings changed since it was indexed."), _("Re-index it.")),
    "file_changed": Reason(
        TEMPORARY, _("The file changed since it was indexed."), _("It is re-indexed by the next sync.")
    ),
    "hidden": Reason(FILE, _("Hidden files are left out."), _RULES),
    "system": Reason(FILE, _("System files are left out."), _RULES),
    "temporary": Reason(FILE, _("Temporary files are left out."), _RULES),
    "sidecar": Reason(FILE, _("Derived files beside a note are left out."), _("Nothing to do.")),
    "secret": Reason(FILE, _("Files that may hold keys are left out."), _RULES),
    "excluded": Reason(FILE, _("Excluded by the rules of the source."), _RULES),
    "not_included": Reason(FILE, _("Not among the included patterns."), _RULES),
    "too_deep": Reason(FILE, _("Its folder lies too deep."), _("Add the folder itself as a source.")),
    "link": Reason(FILE, _("Links are not followed."), _("Add the folder it points to as a source.")),
    "special": Reason(FILE, _("This is not a regular file."), _("Nothing to do.")),
    "loop": Reason(FILE, _("The folder contains itself."), _("Nothing to do.")),
}


def reason_for(code: str) -> Reason:
    """Return the entry of `code`; an unknown code reads as an internal failure."""
    return REASONS.get(code, REASONS["internal"])
