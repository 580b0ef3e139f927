from __future__ import annotations

from django.db import models

from knowledge.models.knowledge_bases import KnowledgeBase
from mnote.models import Root


class KBCount(models.Model):
    """How many documents of a knowledge base below one root are in one state.

    Database triggers keep it (migration `counts`), whatever code writes documents: lists and headers must not count
    a hundred thousand rows each time they are shown. Nothing else writes here.
    """

    kb = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, db_constraint=False, related_name="counts")
    root = models.ForeignKey(Root, on_delete=models.CASCADE, db_constraint=False, related_name="+")
    index_status = models.CharField(max_length=10)
    is_searchable = models.BooleanField()
    count = models.BigIntegerField(default=0)

    class Meta:
        db_table = "mnote_kb_counts"
        constraints = [
            models.UniqueConstraint(fields=["kb", "root", "index_status", "is_searchable"], name="kb_count_once")
        ]
