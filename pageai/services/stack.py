"""The layers of Page AI for `check_stack`: OpenHub, its pages, its promise to commit nothing, its Redis, opencode,
and the conversations that pages have."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone, translation

from mnote.stack import LayerReport, layer
from pageai.exceptions import PanelNotConfigured
from pageai.models import BindingStatus, OpenHubBinding
from pageai.panel import app_files
from pageai.panel.app_files import AppMissing, AppUnknown
from pageai.panel.errors import PanelError
from pageai.panel.openhub import OpenHub, Snapshots
from pageai.services import health, panel
from pageai.services.health import Layer

_SNAPSHOTS = {
    Snapshots.OFF: "",
    Snapshots.ON: "OpenHub commits people's folders. Start it with packaging/openhub_launch.py.",
    Snapshots.UNPROVEN: "OpenHub cannot prove that it commits no folder. Start it with packaging/openhub_launch.py.",
}


@layer("openhub")
def openhub() -> LayerReport:
    return _report("openhub", "openhub_fastapi")


@layer("openhub_redis")
def openhub_redis() -> LayerReport:
    return _report("openhub_redis", "openhub_redis")


@layer("opencode")
def opencode() -> LayerReport:
    return _report("opencode", "opencode")


@layer("snapshots")
def snapshots() -> LayerReport:
    """Let OpenHub prove that it makes no git repository of anybody's folder."""
    try:
        found = OpenHub(panel.connection()).snapshots(now=timezone.now())
    except PanelNotConfigured:
        return LayerReport(name="snapshots", is_ok=True, sentence="Not set up here.")
    except PanelError:
        return LayerReport(name="snapshots", is_ok=False, sentence="OpenHub could not be asked.")
    return LayerReport(name="snapshots", is_ok=found is Snapshots.OFF, sentence=_SNAPSHOTS[found])


@layer("panel_pages")
def panel_pages() -> LayerReport:
    """Look whether OpenHub's built pages are installed, and of a version that is known."""
    try:
        app_dir = panel.connection().app_dir
        if app_dir is None:
            raise AppMissing
        app_files.check(app_dir)
    except PanelNotConfigured:
        return LayerReport(name="panel_pages", is_ok=True, sentence="Not set up here.")
    except AppMissing:
        return LayerReport(name="panel_pages", is_ok=False, sentence="OpenHub's pages are not where the settings say.")
    except AppUnknown:
        return LayerReport(name="panel_pages", is_ok=False, sentence="OpenHub's pages are of a version not known here.")
    return LayerReport(name="panel_pages", is_ok=True)


@layer("session_binding")
def session_binding() -> LayerReport:
    """Look whether opencode still has the conversation that a page of somebody used last."""
    rows = OpenHubBinding.objects.filter(status=BindingStatus.ACTIVE, user__is_active=True)
    newest = rows.exclude(openhub_session_id="").select_related("user").order_by("-updated_at", "-id").first()
    if newest is None:
        return LayerReport(name="session_binding", is_ok=True, sentence="No page has a conversation yet.")
    return _said("session_binding", lambda: health.conversation_layer(newest))


def _report(name: str, key: str) -> LayerReport:
    return _said(name, lambda: health.panel_layer(key))


def _said(name: str, look: Callable[[], Layer]) -> LayerReport:
    with translation.override("en"):
        found = look()
        is_ok = not found.is_configured or (found.is_reachable and not found.is_wrong)
        return LayerReport(name=name, is_ok=is_ok, sentence=str(found.sentence), version=found.version)
