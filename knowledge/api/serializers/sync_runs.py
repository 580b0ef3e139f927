"""Sync runs: one look at a source, what was found and what was done."""

from __future__ import annotations

from rest_framework import serializers

from knowledge.models import SyncOutcome, SyncRun
from knowledge.services import sync_runs
from mnote.api.serializers import CamelSerializer
from mnote.models import Access
from mnote.selectors.access import AccessMap


class SyncRunSerializer(CamelSerializer):
    """`counts` are null for who may not read all of the source; `review` lists the readable paths that a run which was
    held back would take out."""

    id = serializers.CharField()
    knowledge_base_id = serializers.CharField(source="kb_id")
    source_set_id = serializers.CharField(source="source_id", allow_null=True)
    job_id = serializers.CharField(allow_blank=True)
    trigger = serializers.CharField()
    outcome = serializers.ChoiceField(SyncOutcome.choices)
    reason_code = serializers.CharField(allow_blank=True)
    counts = serializers.SerializerMethodField()
    review = serializers.SerializerMethodField()
    may_confirm = serializers.SerializerMethodField()
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_counts(self, run: SyncRun) -> dict[str, int] | None:
        rights = self._rights(run)
        if rights is None or not reads_all_below(rights, run.source.path if run.source else ""):
            return None
        return {name: value for name, value in run.counts.items() if isinstance(value, int)}

    def get_review(self, run: SyncRun) -> list[str]:
        rights = self._rights(run)
        return [path for path in run.review if rights is not None and rights.may_read(path)]

    def get_may_confirm(self, run: SyncRun) -> bool:
        return bool(self.context.get("may_curate")) and sync_runs.may_confirm(run)

    def _rights(self, run: SyncRun) -> AccessMap | None:
        """Return what the caller may read in the root of the run."""
        rights: dict[int, AccessMap] = self.context["rights"]
        return rights.get(run.source.root_id if run.source else run.kb.root_id)


def reads_all_below(rights: AccessMap, path: str) -> bool:
    """Say whether nothing at or below a folder is closed to the caller."""
    closed = [prefix for prefix, access in rights.rules.items() if access == Access.NONE]
    return rights.may_read(path) and not any(AccessMap(rules={path: Access.READ}).may_read(each) for each in closed)
