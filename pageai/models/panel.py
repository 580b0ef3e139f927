from __future__ import annotations

from django.db import models

from mnote.models import User, Workspace
from pageai.models.bindings import OpenHubBinding
from pageai.models.runs import Run


class PanelConnection(models.Model):
    """Where OpenHub is, when the environment does not say it. One row. The secrets are sealed (`mnote.sealing`); the
    admin writes them and never shows them."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    openhub_url = models.URLField(max_length=500)
    opencode_url = models.URLField(max_length=500)
    opencode_username = models.CharField(max_length=100, default="opencode")
    app_dir = models.CharField(max_length=4096, blank=True)
    sealed_jwt_secret = models.TextField(editable=False)
    sealed_redis_url = models.TextField(editable=False)
    sealed_opencode_password = models.TextField(editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "page_ai_panel_connections"
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="panel_connection_once")]

    def __str__(self) -> str:
        return "OpenHub"


class PanelPolicy(models.Model):
    """What the panel may do in a workspace. Without a row: every model of the providers that opencode was connected to,
    save its public ones.

    `models_json` lists `{"model": "provider/model", "monthlyLimit": 0}` (0: no limit); the first is the default. Empty
    means as without a row.
    """

    workspace = models.OneToOneField(Workspace, on_delete=models.CASCADE, primary_key=True, related_name="panel_policy")
    is_enabled = models.BooleanField(default=True)
    models_json = models.JSONField(default=list, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "page_ai_panel_policies"
        verbose_name_plural = "panel policies"

    def __str__(self) -> str:
        return f"panel policy of {self.workspace_id}"


class PanelIdentity(models.Model):
    """The OpenHub user of one runtime identity: a person in a workspace's root. Nothing of it reaches a browser.

    `permitted_json` is what OpenHub was last told; another policy makes it be told again. `closed_at` is set when the
    account in OpenHub was closed with the person's.
    """

    runtime_identity = models.CharField(primary_key=True, max_length=200)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="panel_identities")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="panel_identities")
    root_uri = models.CharField(max_length=16384)
    openhub_username = models.CharField(max_length=50, unique=True)
    openhub_user_id = models.PositiveIntegerField()
    permitted_json = models.JSONField(default=list, blank=True)
    provisioned_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "page_ai_panel_identities"
        verbose_name_plural = "panel identities"

    def __str__(self) -> str:
        return self.openhub_username


class PanelTurn(models.Model):
    """The newest turn of a binding's conversation: at most one runs. The process that reads its stream renews
    `beat_at`; a turn that nobody renews any more counts as ended.

    `revision` grows whenever something changed that a page shows: a request for the person, a changed file, the end.
    `run` is the journal of the turn. `selection` is what the person selected on the page, for the next question;
    `told_hash` says which context the session was told last. Holds no message.
    """

    binding = models.OneToOneField(OpenHubBinding, on_delete=models.CASCADE, primary_key=True, related_name="turn")
    run = models.OneToOneField(Run, on_delete=models.SET_NULL, null=True, blank=True, related_name="turn")
    owner = models.CharField(max_length=60, blank=True)
    question_hash = models.CharField(max_length=64, blank=True)
    selection = models.CharField(max_length=2000, blank=True)
    told_hash = models.CharField(max_length=64, blank=True)
    revision = models.PositiveBigIntegerField(default=0)
    started_at = models.DateTimeField(null=True, blank=True)
    beat_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "page_ai_panel_turns"

    def __str__(self) -> str:
        return f"turn of {self.binding_id}"
