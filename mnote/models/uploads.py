from __future__ import annotations

from django.db import models

from mnote.models.users import User
from mnote.models.workspaces import Root, Workspace


class Upload(models.Model):
    """A file that came in through us, counted against the quota of its workspace.

    The row is written first, with the largest size it may become, and holds that room until `finished_at` is set with
    the real size. A row that was never finished counts for an hour, then no more.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="uploads")
    root = models.ForeignKey(Root, on_delete=models.CASCADE, related_name="uploads")
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="uploads")
    path = models.CharField(max_length=16384)
    size_bytes = models.BigIntegerField()
    sha256 = models.CharField(max_length=64, blank=True)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "mnote_uploads"
        indexes = [models.Index(fields=["workspace", "finished_at"], name="upload_workspace")]

    def __str__(self) -> str:
        return self.path
