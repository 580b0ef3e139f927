from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person. `display_name` is what others see; language and theme follow them to every browser."""

    display_name = models.CharField(max_length=150, blank=True)
    language = models.CharField(max_length=10, blank=True)
    theme = models.CharField(max_length=10, blank=True, choices=[("", "system"), ("light", "light"), ("dark", "dark")])

    class Meta:
        db_table = "mnote_users"

    @property
    def shown_name(self) -> str:
        return self.display_name or self.get_full_name() or self.username


class SignInLink(models.Model):
    """A one-time link that signs a person in. Only a hash of the secret is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    secret_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "mnote_sign_in_links"


class Preference(models.Model):
    """One setting of one person, e.g. "kb.list.view" = "rows"."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="preferences")
    key = models.CharField(max_length=120)
    value = models.JSONField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "mnote_preferences"
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="preference_once")]
