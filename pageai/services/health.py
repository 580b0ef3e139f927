"""The layers that Page AI stands on, each asked now, each with a plain sentence on what is broken (spec 8.3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from knowledge.models import ProviderKind
from knowledge.querysets import visible_kbs
from knowledge.services.providers import Link, links_of
from knowledge.services.stack import what_is_broken
from mnote import connections
from mnote.exceptions import AppError
from mnote.http import build_client
from mnote.principals import Principal
from pageai.exceptions import ConversationGone, PanelNotConfigured
from pageai.models import BindingStatus, OpenHubBinding
from pageai.panel.asking import SHORT, Asker
from pageai.panel.connection import Connection, Endpoint
from pageai.panel.errors import PanelError
from pageai.panel.tokens import TokenStore
from pageai.selectors import bindings
from pageai.selectors.agent_settings import tools_for
from pageai.services import gatekeeping, opencodes, panel, runtimes

_BRIDGE = "js/reading.js"
_BROKEN_FROM = 500
_THREADS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer. `sentence` is for people and names no address; a layer that nobody set up says so. `is_wrong`: it
    answers, but may not stay as it is."""

    is_configured: bool = True
    is_reachable: bool = True
    is_wrong: bool = False
    version: str = ""
    sentence: str | Promise = ""


_NOT_SET_UP = Layer(is_configured=False, is_reachable=False, sentence=_("Not set up here."))
_DOWN = Layer(is_reachable=False, sentence=_("It does not answer."))
_SHARED = _(
    "OpenHub's Redis is MNote's own: give each a database number of its own, or clearing one empties the other."
)


def look(principal: Principal) -> dict[str, Any]:
    """Ask every layer, those outside at the same time, and give what each says by its key."""
    links = links_of(visible_kbs(principal).filter(provider=ProviderKind.WEKNORA))
    looks: dict[str, Callable[[], Layer]] = {
        "openhub_fastapi": _of_panel(_fastapi),
        "openhub_redis": _of_panel(_redis),
        "opencode": _own_opencode(principal),
        "weknora": lambda: _weknora(links),
        "local": _local,
        "session_binding": lambda: _binding(principal),
        "mnote_bridge": _bridge,
        "mcp_facade": lambda: _facade(principal),
    }
    outside = ("openhub_fastapi", "openhub_redis", "opencode", "weknora")
    with ThreadPoolExecutor(_THREADS) as pool:
        asked = {name: pool.submit(_timed, looks[name], translation.get_language()) for name in outside}
        here = {name: _timed(looks[name], translation.get_language()) for name in looks if name not in outside}
        found = {name: each.result() for name, each in asked.items()}
    return {name: (found | here)[name] for name in looks}


def _timed(ask: Callable[[], Layer], language: str | None) -> dict[str, Any]:
    began = time.monotonic()
    with translation.override(language):
        try:
            layer = ask()
        finally:
            connections.let_go()
        return {
            "configured": layer.is_configured,
            "reachable": layer.is_reachable,
            "ok": layer.is_reachable and not layer.is_wrong,
            "milliseconds": int((time.monotonic() - began) * 1000),
            "version": layer.version or None,
            "sentence": str(layer.sentence),
        }


def panel_layer(name: str) -> Layer:
    """Look at one layer of the panel, by its key of the health answer."""
    if name == "opencode":
        return _opencode()
    return _of_panel({"openhub_fastapi": _fastapi, "openhub_redis": _redis}[name])()


def look_at_opencode(principal: Principal) -> dict[str, Any]:
    """Ask only the opencode that answers where no OpenHub stands in between."""
    return {"opencode": _timed(_own_opencode(principal), translation.get_language())}


def _of_panel(ask: Callable[[Connection], Layer]) -> Callable[[], Layer]:
    def asked() -> Layer:
        try:
            return ask(panel.connection())
        except PanelNotConfigured:
            return _NOT_SET_UP
        except PanelError as error:
            return _silent(error.layer)

    return asked


def _silent(name: str) -> Layer:
    return Layer(is_reachable=False, sentence=panel.sentence_of(name))


def _fastapi(connection: Connection) -> Layer:
    """Any answer but a failure will do: without a token it is a refusal."""
    asker = Asker(client=build_client(connection.openhub_url, role="OpenHub", timeouts=SHORT), layer="openhub_fastapi")
    return Layer() if asker.ask("GET", "/api/auth/me").status < _BROKEN_FROM else _silent("openhub_fastapi")


def _redis(connection: Connection) -> Layer:
    store = TokenStore(connection)
    store.drop("mnote-health")  # a key that is never there
    is_shared = any(_shares(store, url) for url in own_redis_urls())
    return Layer(is_wrong=is_shared, sentence=_SHARED if is_shared else "")


def _shares(store: TokenStore, url: str) -> bool:
    try:
        return store.shares(url)
    except PanelError:  # it is ours that does not answer, which other checks tell
        return False


def own_redis_urls() -> set[str]:
    """Return where MNote itself keeps things in a Redis."""
    urls = {settings.CELERY_BROKER_URL, *(str(each.get("LOCATION", "")) for each in settings.CACHES.values())}
    return {url for url in urls if url.startswith(("redis://", "rediss://"))}


def _opencode() -> Layer:
    """OpenHub's, else the one that the operator named."""
    try:
        return _answering(panel.connection().opencode if panel.is_configured() else opencodes.given())
    except PanelNotConfigured:
        return _NOT_SET_UP
    except PanelError as error:
        return _silent(error.layer)


def _answering(endpoint: Endpoint) -> Layer:
    headers = {"Authorization": endpoint.authorization}
    client = build_client(endpoint.url, role="opencode", timeouts=SHORT, headers=headers)
    found: Mapping[str, Any] = Asker(client=client, layer="opencode").mapping("GET", "/global/health")
    return Layer(version=str(found.get("version", ""))) if found.get("healthy") is True else _DOWN


def _own_opencode(principal: Principal) -> Callable[[], Layer]:
    """The opencode that MNote starts itself; what is wrong with that of OpenHub goes first."""

    def asked() -> Layer:
        other = _opencode()
        if not runtimes.is_managed() or (other.is_configured and not other.is_reachable):
            return other
        found = runtimes.standing(principal.user)
        return Layer(is_reachable=not found.trouble, sentence=found.trouble or found.note, version=found.version)

    return asked


def _local() -> Layer:
    status = Link(ProviderKind.LOCAL).status()
    if status.reachable:
        return Layer(version=status.version)
    return Layer(is_reachable=False, sentence=status.sentence or _DOWN.sentence)


def _weknora(links: Sequence[Link]) -> Layer:
    """The servers behind the knowledge bases that the person sees; those that do not answer, by name."""
    if not links:
        return _NOT_SET_UP
    silent = [link for link in links if not link.status().reachable]
    if not silent:
        return Layer()
    said = [what_is_broken(link) or f"{link.name}: {_DOWN.sentence}" for link in silent]
    return Layer(is_reachable=False, sentence=" ".join(said))


def conversation_layer(binding: OpenHubBinding | None) -> Layer:
    """Ask opencode, where it runs, whether it has the conversation of a binding. What else is wrong others tell."""
    if binding is None:
        return Layer(sentence=_("No page of yours has a conversation yet."))
    try:
        visit = gatekeeping.enter(principal=Principal(user=binding.user), binding_id=binding.pk)
        opencode = opencodes.running(visit) if visit.session_id else None
        is_there = opencode is None or opencode.knows(visit.session_id, directory=visit.directory)
    except (AppError, PanelError):
        return Layer()
    return Layer() if is_there else Layer(is_wrong=True, sentence=ConversationGone.title)


def _binding(principal: Principal) -> Layer:
    return conversation_layer(bindings.bindings_of(principal).filter(status=BindingStatus.ACTIVE).first())


def _bridge() -> Layer:
    """The script of the document pane, which opens what conversations cite."""
    return Layer(version=settings.VERSION) if finders.find(_BRIDGE) else _DOWN


def _facade(principal: Principal) -> Layer:
    served = tools_for(principal.user)
    return Layer(version=settings.VERSION, sentence="" if served else _("Knowledge is switched off in your settings."))
