"""Queries of the source list."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework import serializers

from knowledge.api.fields import Choice, PathText, Text, Texts
from knowledge.api.scope import MAX_ID
from knowledge.models import Document, IndexStatus, KnowledgeBase
from knowledge.parsing.file_types import SUPPORTED
from knowledge.selectors.document_lists import Filters, matching_documents
from mnote.api.serializers import CamelSerializer
from mnote.principals import Principal
from mnote.selectors.access import covered_by

_FIRST_YEAR, _LAST_YEAR = 1970, 2200
TYPES = sorted({each.key for each in SUPPORTED.values()})


class SourceQuerySerializer(CamelSerializer):
    """`status`, `type` and `tag` may be repeated: any of the values fits."""

    status = serializers.ListField(child=Choice(IndexStatus.choices), max_length=10, required=False)
    type = serializers.ListField(child=Choice(TYPES), max_length=len(TYPES), required=False)
    tag = Texts(item_length=80, max_length=50)
    source_set_id = Text(max_length=MAX_ID, required=False)
    path_prefix = PathText(required=False)
    q = Text(max_length=200, required=False, help_text="Part of path or title; * and ? stand for any characters.")
    changed_after = serializers.DateTimeField(required=False, help_text="Files changed since.")

    def validate_changed_after(self, value: datetime) -> datetime:
        if not _FIRST_YEAR <= value.year <= _LAST_YEAR:
            raise serializers.ValidationError(_("Give a year from 1970 to 2200."), code="range")
        return value


def filtered(principal: Principal, kb: KnowledgeBase, wanted: dict[str, Any]) -> QuerySet[Document]:
    """Select the readable documents of a knowledge base that fit a query."""
    filters = Filters(
        query=wanted.get("q", ""),
        statuses=tuple(wanted.get("status", ())),
        types=tuple(wanted.get("type", ())),
        tags=tuple(wanted.get("tag", ())),
        source_id=wanted.get("source_set_id", ""),
        changed_after=wanted.get("changed_after"),
    )
    rows = matching_documents(principal, kb, filters)
    prefix = wanted.get("path_prefix", "")
    return rows.filter(covered_by(prefix)) if prefix else rows
