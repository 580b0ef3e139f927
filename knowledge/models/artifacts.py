from __future__ import annotations

from django.db import models

from knowledge import ids
from mnote.models import Workspace


class ArtifactKind(models.TextChoices):
    OCR_TEXT = "ocr_text", "ocr_text"
    PARSE_TEXT = "parse_text", "parse_text"
    SOURCE_MAP = "source_map", "source_map"
    PAGE_IMAGE = "page_image", "page_image"
    THUMBNAIL = "thumbnail", "thumbnail"
    DOCUMENT_MAP = "document_map", "document_map"


class DerivedArtifact(models.Model):
    """Something made from a local file, rebuildable (spec 10.2). Small text lives in the row, the rest in a
    content-addressed file of the data folder named by `content_blob_path` (relative to the artifact folder).

    Keyed by content: two paths with the same bytes share the rows of the first of them.
    """

    artifact_id = models.CharField(primary_key=True, max_length=40, default=ids.artifact_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="artifacts")
    root_uri = models.CharField(max_length=32768)
    owner_document_id = models.CharField(max_length=32768)
    owner_document_path = models.CharField(max_length=16384)
    source_root_relative_path = models.CharField(max_length=16384)
    artifact_kind = models.CharField(max_length=12, choices=ArtifactKind.choices)
    provider = models.CharField(max_length=40)
    revision = models.CharField(max_length=40)
    source_hash = models.CharField(max_length=80)
    content_hash = models.CharField(max_length=80)
    content_text = models.TextField(blank=True)
    content_blob_path = models.CharField(max_length=200, blank=True)
    mime_type = models.CharField(max_length=80)
    size_bytes = models.BigIntegerField()
    created_at_ms = models.BigIntegerField()
    updated_at_ms = models.BigIntegerField()
    stale = models.BooleanField(default=False)

    class Meta:
        db_table = "derived_artifacts"
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "source_hash", "artifact_kind", "provider", "revision"], name="artifact_once"
            )
        ]
