from __future__ import annotations

from django.db import models

from mnote.models.users import User
from mnote.models.workspaces import Workspace


class IdempotencyKey(models.Model):
    """A request that made something, remembered by the key its caller gave, with its answer once there is one.

    `key_hash` stands for token and key, `fingerprint` for the request itself. `status` is None while it is being
    worked on. Only `mnote.services.idempotency` writes here.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key_hash = models.CharField(max_length=40)
    fingerprint = models.CharField(max_length=40)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, null=True, related_name="+")
    status = models.PositiveSmallIntegerField(null=True)
    location = models.CharField(max_length=300, blank=True)
    body = models.JSONField(default=dict)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "mnote_idempotency_keys"
        constraints = [models.UniqueConstraint(fields=["user", "key_hash"], name="idempotency_key_once")]

    def __str__(self) -> str:
        return self.key_hash
