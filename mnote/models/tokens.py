from __future__ import annotations

from django.db import models

from mnote.models.users import User


class TokenScope(models.TextChoices):
    KNOWLEDGE_READ = "knowledge:read", "knowledge:read"
    KNOWLEDGE_WRITE = "knowledge:write", "knowledge:write"
    PAGEAI = "pageai", "pageai"
    MCP = "mcp", "mcp"
    ADMIN_READ = "admin:read", "admin:read"


class ApiToken(models.Model):
    """A key that acts for a person, never beyond that person's rights. Shown once; only its hash is kept.

    `scopes` is a list of TokenScope values; `kb_ids` limits it to these knowledge bases, an empty list to none of them
    in particular.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=120)
    prefix = models.CharField(max_length=16)
    secret_hash = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    kb_ids = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "mnote_api_tokens"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
