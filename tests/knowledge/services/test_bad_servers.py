"""What comes of documents when a server cannot be used as it stands: all wait with one reason, nobody is blamed, the
server is asked seldom, and nothing of it is told."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from knowledge.models import Document, DocumentEvent, ProviderOutage
from knowledge.reasons import reason_for
from tests.knowledge.remote import Remote
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_replies import Reply, gate, success

HTML = Reply(status=200, body=b"<!doctype html><title>Sign in</title>", content_type="text/html")
MOVED = Reply(status=302, body=b"", headers={"Location": "/login"})
NO_ROUTE = Reply(status=404, body=b"404 page not found", content_type="text/plain")
OTHER_TENANT = gate(403, "Forbidden: workspace API key cannot switch workspaces")
_DOCUMENTS = 16
#: At one turn, however many documents wait.
_MOST_CALLS = 12


def _no_key(stub: WeKnoraStub) -> None:
    stub.world.keys = {}


def _narrow_key(stub: WeKnoraStub) -> None:
    stub.world.keys[stub.key].rights = frozenset({"retrieve", "manage_kbs"})


def _listed_key(stub: WeKnoraStub) -> None:
    stub.world.keys[stub.key].kb_ids = frozenset({"another"})


def _no_model(stub: WeKnoraStub) -> None:
    stub.world.models = {}


def _always(**facts: Any) -> Callable[[WeKnoraStub], None]:
    return lambda stub: stub.misbehave(path="/api/v1/", times=10_000, **facts)


SERVERS: dict[str, tuple[Callable[[WeKnoraStub], None], str]] = {
    "wrong or expired key": (_no_key, "provider-auth"),
    "key of another tenant": (_always(reply=OTHER_TENANT), "provider-rights"),
    "key without a right": (_narrow_key, "provider-rights"),
    "key with a list": (_listed_key, "provider-key-limited"),
    "deleted model": (_no_model, "provider-model-missing"),
    "older version": (_always(reply=NO_ROUTE), "provider-protocol"),
    "newer version": (_always(reply=success({"items": []})), "provider-protocol"),
    "page": (_always(reply=HTML), "provider-protocol"),
    "page to sign in": (_always(reply=MOVED), "provider-protocol"),
    "half an answer": (_always(cut=True), "provider-protocol"),
    "broken line": (_always(cut=True, is_announced=False), "provider-unavailable"),
    "nobody": (_always(reset=True), "provider-unavailable"),
}


@pytest.fixture
def waiting(remote: Remote) -> Remote:
    for number in range(_DOCUMENTS):
        remote.vault.write(f"{number:03}.md", f"# Note\n\nLine about the lantern{number:04}x.\n")
    remote.vault.sync()
    return remote


@pytest.mark.parametrize("remote", ["lite"], indirect=True)
@pytest.mark.parametrize(("spoil", "code"), SERVERS.values(), ids=SERVERS)
def test_server_that_cannot_be_used_lets_all_wait_with_a_reason_and_is_asked_seldom(
    waiting: Remote, spoil: Callable[[WeKnoraStub], None], code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    kept = dict(waiting.stub.world.keys), dict(waiting.stub.world.models), waiting.stub.world.keys[waiting.stub.key]
    rights, kb_ids = kept[2].rights, kept[2].kb_ids
    spoil(waiting.stub)

    waiting.turn()
    first = len(waiting.stub.asked)
    waiting.turn()

    assert (first <= _MOST_CALLS, len(waiting.stub.asked) - first) == (True, 0)
    assert set(waiting.vault.states().values()) == {"queued"}
    assert Document.objects.filter(attempts__gt=0).count() == 0
    assert waiting.outage is not None
    assert waiting.outage.code == code
    assert waiting.outage.until is not None
    assert waiting.outage.until > timezone.now()
    told = set(Document.objects.exclude(reason_code="").values_list("reason_code", "reason_class"))
    assert told == {(code, reason_for(code).reason_class)}
    _leaks_nothing(waiting, caplog.text)

    waiting.stub.faults.clear()
    waiting.stub.world.keys, waiting.stub.world.models = kept[:2]
    kept[2].rights, kept[2].kb_ids = rights, kb_ids
    waiting.level()
    assert waiting.outage is None
    assert set(waiting.vault.states().values()) == {"indexed"}
    assert Document.objects.filter(attempts__gt=0).count() == 0


def _leaks_nothing(remote: Remote, logged: str) -> None:
    rows = list(Document.objects.values("reason_code", "reason_detail", "provider_status", "metadata_json")[:5])
    facts = list(DocumentEvent.objects.values_list("facts", flat=True)[:50])
    outages = list(ProviderOutage.objects.values_list("key", "code"))
    told = json.dumps([rows, facts, outages]) + logged
    for secret in (remote.stub.key, str(remote.stub.port), "127.0.0.1", "http://", "<!doctype"):
        assert secret not in told


@pytest.mark.parametrize("remote", ["lite"], indirect=True)
def test_key_that_is_exchanged_for_one_of_another_tenant_moves_nothing_there(remote: Remote) -> None:
    remote.vault.write("a.md", "# Garden\n\nTomatoes need water every morning.\n")
    remote.level()
    place, key = remote.kb.provider_kb_id, remote.stub.world.keys[remote.stub.key]
    key.tenant = 2
    remote.vault.write("b.md", "# Backup\n\nCopied at two in the morning.\n")
    remote.vault.sync()
    for _turn in range(3):
        remote.work()

    assert remote.kb.provider_kb_id == place
    assert len(remote.stub.world.kbs) == 1
    assert remote.outage is not None
    assert remote.outage.code == "provider-scope"
    assert remote.vault.states() == {"a.md": "indexed", "b.md": "queued"}

    key.tenant = 1
    remote.level()
    assert set(remote.vault.states().values()) == {"indexed"}
    assert len(remote.held) == remote.uploads() == 2


NAMES = {
    "quotes": 'a"; filename="evil.md',
    "line of a header": "x\r\nX-Injected: 1.md",
    "boundary": "--mnote-0123456789abcdef.md",
    "long parts": f"{'长' * 60}/{'夹' * 80}/{'名' * 80}.md",
    "many parts": "/".join("abcdefghijklmnopqrst") + "/x.md",
    "script": "javascript:onload=x.md",
    "blanks": " . . .md",
}


@pytest.mark.parametrize("remote", ["lite"], indirect=True)
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_that_break_headers_or_folders_arrive_as_plain_ones(remote: Remote, name: str) -> None:
    """T21, T22, T66: the server cuts, folds or refuses them; the true path goes along as a fact."""
    remote.vault.write(name, "# Garden\n\nTomatoes need water every morning.\n")

    remote.level()

    (held,) = remote.held
    assert remote.vault.states() == {name: "indexed"}
    assert held.folder == ""
    assert held.metadata is not None
    assert held.metadata["path"] == name
    assert not set(held.name) & set('"\r\n/:')
    assert len(held.name.encode()) < 200
    assert remote.vault.found("tomatoes") == [name]
