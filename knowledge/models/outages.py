from __future__ import annotations

from django.db import models


class ProviderOutage(models.Model):
    """A provider that does not work, found by whoever asked it last; the row goes as soon as it works.

    `key` says for whom: that of a `Link` where the provider does not serve us at all, the id of a knowledge base where
    it cannot take documents of that one. `code` says what was wrong at `seen_at`, `since` when it began. Work on
    documents waits until `until`; None where nobody was at work, or a person asked not to wait.
    """

    key = models.CharField(primary_key=True, max_length=60)
    code = models.CharField(max_length=60)
    since = models.DateTimeField()
    seen_at = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "mnote_provider_outages"

    def __str__(self) -> str:
        return self.key
