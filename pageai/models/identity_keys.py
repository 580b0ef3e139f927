from __future__ import annotations

from django.db import models


class IdentityKey(models.Model):
    """The key of the derived identities: one row, made once, never changed. Outside systems keep what it derives."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    key_hex = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "page_ai_identity_keys"
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="identity_key_once")]

    def __str__(self) -> str:
        return "identity key"
