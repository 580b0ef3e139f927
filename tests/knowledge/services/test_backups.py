"""A backup holds what cannot be rebuilt; the rest is rebuilt from the documents."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from knowledge.models import KnowledgeBase
from knowledge.services import drain, reconcile
from mnote.models import AuditEntry, Preference, User, Workspace
from mnote.services import backups
from tests.knowledge.vault import Vault

pytestmark = pytest.mark.django_db(transaction=True)


def empty() -> None:
    """Leave the database as migrations make it."""
    KnowledgeBase.objects.all().delete()
    AuditEntry.objects.all().delete()
    Workspace.objects.all().delete()
    User.objects.all().delete()


def test_restore_brings_everything_back_and_the_index_is_rebuilt(vault: Vault, tmp_path: Path, settings: Any) -> None:
    vault.write("a.md", "a passage to find again")
    vault.level()
    Preference.objects.create(user=vault.people.carol, key="kb.list.view", value="rows")
    before = vault.row("a.md")
    archive = tmp_path / "backup.tar.gz"
    backups.write(archive)
    vault.kb.documents.all().delete()
    vault.source.delete()
    empty()
    shutil.rmtree(settings.MNOTE_INDEX_DIR)

    backups.restore(archive)

    assert vault.row("a.md").id == before.id
    assert Preference.objects.get(user__username="carol").value == "rows"
    kb = KnowledgeBase.objects.get(id=vault.kb.id)
    assert reconcile.reconcile(kb=kb, repair=True).lost == ("a.md",)
    drain.drain(kb=kb, worker="test")
    assert vault.found("passage to find again") == ["a.md"]


def test_restore_refuses_a_database_in_use(vault: Vault, tmp_path: Path) -> None:
    archive = tmp_path / "backup.tar.gz"
    backups.write(archive)

    with pytest.raises(backups.BackupFailed, match="in use"):
        backups.restore(archive)


def test_backup_never_overwrites_and_is_for_its_owner_alone(vault: Vault, tmp_path: Path) -> None:
    archive = tmp_path / "backup.tar.gz"
    backups.write(archive)
    assert archive.stat().st_mode & 0o777 == 0o600

    with pytest.raises(backups.BackupFailed, match="exists"):
        backups.write(archive)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x1f\x8b damaged"])
def test_restore_refuses_what_is_no_backup(tmp_path: Path, content: bytes) -> None:
    archive = tmp_path / "other.tar.gz"
    archive.write_bytes(content)

    with pytest.raises(backups.BackupFailed, match="not a backup"):
        backups.restore(archive)


def test_names_in_an_archive_never_become_paths(tmp_path: Path) -> None:
    evil = tmp_path / "evil.tar.gz"
    payload = tmp_path / "payload"
    payload.write_text("[]")
    with tarfile.open(evil, "w:gz") as archive:
        archive.add(payload, "../outside")

    with pytest.raises(backups.BackupFailed):
        backups.restore(evil)
    assert not (tmp_path.parent / "outside").exists()
