from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from knowledge import ids
from knowledge.models.knowledge_bases import KnowledgeBase, ProviderKind
from knowledge.models.sources import Source
from mnote.files.uris import join_uri
from mnote.models import Root, User, Workspace


class IndexStatus(models.TextChoices):
    """The lamp. Skipped files are rows too, but have a reason instead of a lamp."""

    QUEUED = "queued", _("queued")
    PARSING = "parsing", _("parsing")
    INDEXED = "indexed", _("indexed")
    FAILED = "failed", _("failed")
    STALE = "stale", _("stale")
    DELETED = "deleted", _("deleted")
    SKIPPED = "skipped", _("skipped")


class ReasonClass(models.TextChoices):
    """What kind of failure it is, and so who can help."""

    NONE = "", _("none")
    TEMPORARY = "temporary", _("temporary")
    FILE = "file", _("file")
    CONFIGURATION = "configuration", _("configuration")
    ACCESS = "access", _("access")
    SERVICE = "service", _("service")


class Document(models.Model):
    """One local file seen through one knowledge base: the registry row. Public name: source.

    `source_path` is root-relative, in the escaped text form of `mnote.files.names`; `path_key` and `parent_key` are
    `text_key` of it and of its folder, `sort_path` its first 200 characters, for lists in path order. `source_hash`
    is what the file held when last looked at; `indexed_hash` what search holds now: they differ while a change is
    being worked in. `text_hash` is of the text that the provider was given for it, where that is not the file.
    `pending_knowledge_id` is the provider document that a version in the making is, known from the moment the provider
    took it (`handed_at`); `pending_json` what the row becomes when it is done. `is_to_reparse`: the provider is to
    process the same text again.
    `rev` grows with every change of the row, over all rows: pages ask for what is newer. Only services write here.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.document_id, editable=False)
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    kb = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="documents")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="documents")
    root = models.ForeignKey(Root, on_delete=models.PROTECT, related_name="documents")
    source = models.ForeignKey(Source, on_delete=models.SET_NULL, null=True, blank=True, related_name="documents")
    resource_id = models.CharField(max_length=400, null=True, blank=True)
    source_path = models.CharField(max_length=16384)
    path_key = models.CharField(max_length=40, editable=False)
    parent_key = models.CharField(max_length=40, editable=False)
    sort_path = models.CharField(max_length=200, editable=False)
    title = models.CharField(max_length=500, blank=True)
    source_type = models.CharField(max_length=20, blank=True)
    size_bytes = models.BigIntegerField(default=0)
    mtime_ns = models.BigIntegerField(default=0)
    ctime_ns = models.BigIntegerField(default=0)
    inode = models.BigIntegerField(default=0)
    device = models.BigIntegerField(default=0)
    source_hash = models.CharField(max_length=80, blank=True)
    indexed_hash = models.CharField(max_length=80, blank=True)
    provider = models.CharField(max_length=20, choices=ProviderKind.choices)
    provider_kb_id = models.CharField(max_length=64, blank=True)
    provider_knowledge_id = models.CharField(max_length=80, blank=True)
    provider_doc_id = models.CharField(max_length=80, null=True, blank=True)
    provider_status = models.CharField(max_length=40, blank=True)
    pending_knowledge_id = models.CharField(max_length=80, blank=True, default="")
    pending_json = models.JSONField(default=dict, blank=True)
    handed_at = models.DateTimeField(null=True, blank=True)
    text_hash = models.CharField(max_length=80, blank=True, default="")
    is_to_reparse = models.BooleanField(default=False)
    index_status = models.CharField(max_length=10, choices=IndexStatus.choices, default=IndexStatus.QUEUED)
    reason_class = models.CharField(max_length=20, choices=ReasonClass.choices, blank=True, default="")
    reason_code = models.CharField(max_length=60, blank=True)
    reason_detail = models.CharField(max_length=500, blank=True)
    status_since = models.DateTimeField()
    is_searchable = models.BooleanField(default=False)
    chunk_count = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=120, blank=True)
    missing_since = models.DateTimeField(null=True, blank=True)
    tags_json = models.JSONField(default=list, blank=True)
    citation_locator_json = models.JSONField(default=dict, blank=True)
    metadata_json = models.JSONField(default=dict, blank=True)
    rev = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    indexed_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "mnote_knowledge_sources"
        constraints = [models.UniqueConstraint(fields=["kb", "root", "path_key"], name="document_path_once")]
        indexes = [
            models.Index(fields=["kb", "index_status", "sort_path"], name="document_status"),
            models.Index(fields=["kb", "parent_key", "sort_path"], name="document_folder"),
            models.Index(fields=["kb", "sort_path"], name="document_sorted"),
            models.Index(fields=["kb", "size_bytes"], name="document_size"),
            models.Index(fields=["kb", "mtime_ns"], name="document_changed"),
            models.Index(fields=["kb", "indexed_at"], name="document_indexed"),
            models.Index(fields=["kb", "rev"], name="document_rev"),
            models.Index(fields=["workspace", "root", "path_key"], name="document_path"),
            models.Index(fields=["kb", "provider_knowledge_id"], name="document_provider"),
            models.Index(fields=["workspace", "source_hash"], name="document_hash"),
            models.Index(fields=["kb", "next_try_at"], name="document_due", condition=Q(index_status="queued")),
            models.Index(
                fields=["kb", "pending_knowledge_id"], name="document_pending", condition=~Q(pending_knowledge_id="")
            ),
        ]

    def __str__(self) -> str:
        return self.source_path

    @property
    def source_uri(self) -> str:
        """The file:// URI of the file; server-side use only."""
        return join_uri(self.root.root_uri, self.source_path)

    @property
    def name(self) -> str:
        return self.source_path.rpartition("/")[2]


class DocumentTag(models.Model):
    """One tag of one document, for filters; `Document.tags_json` repeats them for display."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="tag_rows")
    name = models.CharField(max_length=80, db_index=True)

    class Meta:
        db_table = "mnote_source_tags"
        constraints = [models.UniqueConstraint(fields=["document", "name"], name="document_tag_once")]


class Exclusion(models.Model):
    """A path that was taken out of a knowledge base by hand; the next sync must not bring it back."""

    kb = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="exclusions")
    root = models.ForeignKey(Root, on_delete=models.CASCADE, related_name="+")
    path = models.CharField(max_length=16384)
    path_key = models.CharField(max_length=40, editable=False)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "mnote_source_exclusions"
        constraints = [models.UniqueConstraint(fields=["kb", "root", "path_key"], name="exclusion_once")]


class DocumentEvent(models.Model):
    """One step in the life of a document: detected, transferred, read, split, indexed, failed, stopped."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="events")
    attempt = models.PositiveIntegerField(default=1)
    stage = models.CharField(max_length=30)
    state = models.CharField(max_length=12)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    facts = models.JSONField(default=dict, blank=True)

    class Meta:
        db_table = "mnote_document_events"
        indexes = [models.Index(fields=["document", "attempt", "started_at"], name="document_event")]


class ProviderWish(models.Model):
    """What a provider is to do for one of its documents: asked for again until it has done it."""

    provider_knowledge_id = models.CharField(max_length=80)
    next_try_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    reason_code = models.CharField(max_length=60, blank=True)

    class Meta:
        abstract = True


class ProviderDeletion(ProviderWish):
    """A provider document that nobody wants any more, until the provider has confirmed that it is gone."""

    kb = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="provider_deletions")
    asked_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "mnote_provider_deletions"
        constraints = [
            models.UniqueConstraint(fields=["kb", "provider_knowledge_id"], name="provider_deletion_once"),
        ]
        indexes = [models.Index(fields=["next_try_at"], name="provider_deletion_due")]


class ProviderTagging(ProviderWish):
    """A provider document whose tags are to become those of its rows, until the provider has taken them. `asked_at`
    tells a wish that came while an earlier one was being fulfilled from that one."""

    kb = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="provider_taggings")
    asked_at = models.DateTimeField()

    class Meta:
        db_table = "mnote_provider_taggings"
        constraints = [
            models.UniqueConstraint(fields=["kb", "provider_knowledge_id"], name="provider_tagging_once"),
        ]
        indexes = [models.Index(fields=["next_try_at"], name="provider_tagging_due")]


class RevisionCounter(models.Model):
    """One row per workspace: the last `rev` handed out. Taken inside the transaction that writes the documents."""

    workspace = models.OneToOneField(Workspace, on_delete=models.CASCADE, primary_key=True, related_name="revision")
    value = models.BigIntegerField(default=0)

    class Meta:
        db_table = "mnote_revisions"
