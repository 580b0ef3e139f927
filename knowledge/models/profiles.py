from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from knowledge import ids
from knowledge.models.knowledge_bases import ProviderKind
from mnote.models import Workspace

_DIGITS = RegexValidator(r"^[0-9]+\Z")


class ProviderProfile(models.Model):
    """A connection to a provider outside: one server, one tenant, one key, and the workspaces that may use it.

    The key is sealed (`mnote.sealing`) or, with `key_name`, one of MNOTE_PROVIDER_KEYS; it and the address are written
    and never shown. A tenant belongs to one `isolation_domain`, because a provider keeps only tenants apart; so does a
    workspace. `tenant_key` stands for server and tenant. `check_json` holds the last check, done at `checked_at`, as
    `knowledge.services.profile_checks` writes it; a change of the connection empties both. `seen_at` is when the server
    was last asked by itself whether it answers and takes the key, `seen_code` what was wrong then, "" for nothing.
    `vision_model_id` is the model by which it reads pictures, "" where it reads none.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.profile_id, editable=False)
    name = models.CharField(max_length=60)
    kind = models.CharField(
        max_length=20, choices=[(ProviderKind.WEKNORA.value, "WeKnora")], default=ProviderKind.WEKNORA
    )
    base_url = models.CharField(max_length=500)
    tenant_id = models.CharField(max_length=20, validators=[_DIGITS])
    tenant_key = models.CharField(max_length=40, db_index=True, editable=False)
    isolation_domain = models.SlugField(max_length=60)
    sealed_key = models.TextField(blank=True, editable=False)
    key_name = models.CharField(max_length=60, blank=True)
    embedding_model_id = models.CharField(max_length=64)
    vision_model_id = models.CharField(max_length=64, blank=True, default="")
    edition = models.CharField(max_length=20, blank=True, editable=False)
    workspaces = models.ManyToManyField(
        Workspace, blank=True, related_name="provider_profiles", db_table="mnote_provider_profile_workspaces"
    )
    check_json = models.JSONField(default=dict, blank=True, editable=False)
    checked_at = models.DateTimeField(null=True, blank=True, editable=False)
    seen_at = models.DateTimeField(null=True, blank=True, editable=False)
    seen_code = models.CharField(max_length=60, blank=True, default="", editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        db_table = "mnote_provider_profiles"
        constraints = [
            models.UniqueConstraint(Lower("name"), condition=Q(archived_at__isnull=True), name="profile_name_once"),
        ]

    def __str__(self) -> str:
        return self.name
