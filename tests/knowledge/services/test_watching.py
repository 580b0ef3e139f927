"""A hint from the file system asks for a look at the sources concerned, and at no others."""

from __future__ import annotations

import threading

import pytest

from knowledge.models import SyncMode
from knowledge.services import watching
from mnote.models import Job
from tests.knowledge.vault import Vault


def asked(vault: Vault) -> int:
    return Job.objects.filter(kind="knowledge.sync_source", dedup_key=vault.source.id, status="queued").count()


def start_anew(vault: Vault) -> bytes:
    """Forget the look that attaching the source asked for; return the root's absolute path."""
    Job.objects.all().delete()
    return bytes(vault.folder)


def test_hint_asks_for_a_look(vault: Vault) -> None:
    root = start_anew(vault)

    assert watching.request_for({(root, "some/folder")}) == 1
    assert asked(vault) == 1


def test_many_hints_ask_once(vault: Vault) -> None:
    root = start_anew(vault)

    for _ in range(5):
        watching.request_for({(root, "a"), (root, "b")})

    assert asked(vault) == 1


def test_hint_elsewhere_asks_for_nothing(vault: Vault) -> None:
    root = start_anew(vault)
    vault.source.path = "only/this"
    vault.source.save()

    assert watching.request_for({(root, "only/that")}) == 0
    assert watching.request_for({(root, "only/this/deep")}) == 1


@pytest.mark.parametrize("mode", [SyncMode.MANUAL, SyncMode.INTERVAL])
def test_source_that_is_not_watched_is_left_alone(vault: Vault, mode: SyncMode) -> None:
    root = start_anew(vault)
    vault.source.sync_mode = mode
    vault.source.save()

    assert watching.request_for({(root, "")}) == 0


@pytest.mark.django_db(transaction=True)
def test_saved_file_is_noticed(vault: Vault) -> None:
    start_anew(vault)
    stop = threading.Event()
    watcher = threading.Thread(target=watching.watch, args=(stop,))
    watcher.start()
    try:
        for number in range(40):
            vault.write("noted.md", f"saved {number}")
            if stop.wait(0.25) or asked(vault):
                break
    finally:
        stop.set()
        watcher.join(10)

    assert asked(vault) == 1
    assert not watcher.is_alive()
