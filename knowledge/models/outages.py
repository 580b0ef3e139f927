from __future__ import annotations

from django.db import models


class ProviderOutage(models.Model):
    """A provider that did not answer when it was asked last; the row goes as soon as it answers.

    `key` is that of its `Link`. `code` says what was wrong at `seen_at`, `since` when it began.
    """

    key = models.CharField(primary_key=True, max_length=60)
    code = models.CharField(max_length=60)
    since = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "mnote_provider_outages"

    def __str__(self) -> str:
        return self.key
