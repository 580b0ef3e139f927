"""The only module that opens index files: one SQLite file per workspace, through apsw alone, in WAL mode.

Django's sqlite3 must never open these files: two SQLite libraries in one process break each other's locks.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import apsw

from knowledge.providers.base import ProviderError
from knowledge.providers.local.errors import IndexBusy, IndexDamaged, IndexFull, IndexNotWritable, IndexUnreadable
from knowledge.providers.local.schema import SCHEMA_REV, TABLES
from knowledge.providers.local.tokens import TOKENIZER_REV

FILE_NAME = "evidence.sqlite"

_NAME_LENGTH = 16
_BUSY_MILLISECONDS = 30_000
_OPEN_PER_THREAD = 8
_PRAGMAS = (
    "PRAGMA synchronous=NORMAL; PRAGMA cache_size=-8000; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864;"
)
_FACTS = """
SELECT count(*), coalesce(sum(block_count), 0), (SELECT count(*) FROM evidence_meta WHERE key = 'rebuild')
FROM evidence_resource
"""

Identity = tuple[int, int]

#: Connections inherited by a forked child: SQLite forbids using and even closing them there.
_inherited: list[object] = []


@dataclass(frozen=True, slots=True)
class _Opened:
    connection: apsw.Connection
    identity: Identity


class _Thread(threading.local):
    """The open files of one thread, the least recently used first."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.opened: OrderedDict[Path, _Opened] = OrderedDict()
        self.empty: apsw.Connection | None = None


class Store:
    """Index files below `index_dir`, one connection per thread and workspace. Every method may raise ProviderError."""

    def __init__(self, index_dir: Path) -> None:
        self.index_dir = index_dir
        self._thread = _Thread()

    def path(self, workspace_id: str) -> Path:
        return self.index_dir / sha256(workspace_id.encode()).hexdigest()[:_NAME_LENGTH] / FILE_NAME

    def paths(self) -> list[Path]:
        """Return the index files that exist."""
        return sorted(self.index_dir.glob(f"{'?' * _NAME_LENGTH}/{FILE_NAME}"))

    def facts(self) -> dict[str, int]:
        """Count what all workspaces hold; `rebuilding` counts those whose content must be given again."""
        facts = dict.fromkeys(("workspaces", "documents", "blocks", "bytes", "rebuilding"), 0)
        for path in self.paths():
            with _translated(), self._guarded(path):
                documents, blocks, rebuilding = self._connect(path).connection.execute(_FACTS).get
                facts["bytes"] += path.stat().st_size
            facts["workspaces"] += 1
            facts["documents"] += documents
            facts["blocks"] += blocks
            facts["rebuilding"] += rebuilding
        return facts

    @contextmanager
    def reading(self, workspace_id: str) -> Iterator[apsw.Connection]:
        """Give a connection that sees one state throughout. A workspace without a file reads as empty."""
        path = self.path(workspace_id)
        with _translated(), self._guarded(path):
            connection = self._connect(path).connection if path.exists() else self._empty()
            with _transaction(connection, "BEGIN"):
                yield connection

    @contextmanager
    def writing(self, workspace_id: str) -> Iterator[apsw.Connection]:
        """Give a connection in a write transaction: all is kept on leaving, nothing after an exception."""
        path = self.path(workspace_id)
        with _translated(), self._guarded(path):
            opened = self._connect(path)
            with _transaction(opened.connection, "BEGIN IMMEDIATE"):
                yield opened.connection
            if _identity(path) != opened.identity:
                raise IndexBusy("the index file was replaced while it was written")

    def rebuild_reason(self, workspace_id: str) -> str | None:
        """Say why content must be given again (damaged, outdated), or its words made again (tokenizer), or None."""
        with self.reading(workspace_id) as connection:
            meta = read_meta(connection)
        return meta.get("rebuild") or (None if meta["tokenizer_rev"] == TOKENIZER_REV else "tokenizer")

    def begin_rebuild(self, workspace_id: str, reason: str) -> None:
        """Note that content must be given again; searches say so until `finish_rebuild`."""
        with self.writing(workspace_id) as connection:
            write_meta(connection, "rebuild", reason)

    def finish_rebuild(self, workspace_id: str, *, unconfirmed: str | None = None) -> None:
        """Note that everything was given again, and that the file `unconfirmed` is whole."""
        with self.writing(workspace_id) as connection:
            connection.execute("DELETE FROM evidence_meta WHERE key = 'rebuild'")
            connection.execute("DELETE FROM evidence_meta WHERE key = 'unconfirmed' AND value = ?", (unconfirmed,))

    def is_there(self, workspace_id: str) -> bool:
        return self.path(workspace_id).exists()

    def unconfirmed(self, workspace_id: str) -> str | None:
        """Return the mark of a file that was made from nothing and of which nobody said yet that it is whole."""
        with self.reading(workspace_id) as connection:
            return read_meta(connection).get("unconfirmed")

    def drop(self, workspace_id: str) -> None:
        """Remove a workspace's folder and all in it. Unknown is success."""
        folder = self.path(workspace_id).parent
        aside = folder.with_name(f"{folder.name}.dropped-{time.time_ns()}")
        with _translated():
            self._forget(folder / FILE_NAME)
            with suppress(FileNotFoundError):
                folder.rename(aside)  # at once, so that no one opens half a folder
            for left in folder.parent.glob(f"{folder.name}.dropped-*"):  # also of a call that was cut short
                shutil.rmtree(left, ignore_errors=True)

    def check_writable(self) -> None:
        """Make the index folder and write a file in it. Raises IndexNotWritable or IndexFull."""
        with _translated():
            self.index_dir.mkdir(parents=True, exist_ok=True)
            probe = self.index_dir / f".probe-{os.getpid()}-{threading.get_ident()}"
            probe.write_bytes(b"x")
            probe.unlink()

    def _connect(self, path: Path) -> _Opened:
        thread = self._thread
        if thread.pid != os.getpid():
            _inherited.append((thread.opened, thread.empty))
            thread.pid, thread.opened, thread.empty = os.getpid(), OrderedDict(), None
        opened = thread.opened.get(path)
        if opened and opened.identity == _identity(path):
            thread.opened.move_to_end(path)
            return opened
        self._forget(path)
        opened = thread.opened[path] = _open(path)
        while len(thread.opened) > _OPEN_PER_THREAD:
            thread.opened.popitem(last=False)[1].connection.close()
        return opened

    def _empty(self) -> apsw.Connection:
        if self._thread.empty is None:
            self._thread.empty = apsw.Connection(":memory:")
            _create_tables(self._thread.empty)
        return self._thread.empty

    def _forget(self, path: Path) -> None:
        opened = self._thread.opened.pop(path, None)
        if opened:
            opened.connection.close()

    @contextmanager
    def _guarded(self, path: Path) -> Iterator[None]:
        """Set a damaged file aside, so that the next caller starts a new one."""
        before = _identity(path)
        try:
            yield
        except (apsw.CorruptError, apsw.NotADBError) as exc:
            opened = self._thread.opened.get(path)
            identity = opened.identity if opened else before
            self._forget(path)
            _set_aside(path, identity, reason="damaged")
            raise IndexDamaged("the index file was damaged and set aside; its documents must be indexed again") from exc


def read_meta(connection: apsw.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT key, value FROM evidence_meta"))


def write_meta(connection: apsw.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO evidence_meta VALUES (?, ?)", (key, value))


def _open(path: Path) -> _Opened:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        _remove_remains(path)
    connection = _raw(path)
    try:
        identity = _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    if identity:
        return _Opened(connection, identity)
    connection.close()
    _set_aside(path, _identity(path), reason="outdated")
    return _open(path)


def _prepare(connection: apsw.Connection, path: Path) -> Identity | None:
    """Make a new file's tables or check an old one's; None when its tables are of another revision."""
    meta = _meta_or_none(connection)
    if meta is None:
        with _locked(path.parent):
            _create(connection)
    elif meta["schema_rev"] != SCHEMA_REV:
        return None
    connection.execute(_PRAGMAS)
    identity = _identity(path)
    if identity is None:
        raise IndexBusy("the index file was replaced while it was opened")
    return identity


def _raw(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    return connection


def _remove_remains(path: Path) -> None:
    """Remove the write-ahead log of a file that is gone: the engine would take it for that of the new one."""
    with _locked(path.parent):
        if not path.exists():
            for suffix in ("-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)


def _meta_or_none(connection: apsw.Connection) -> dict[str, str] | None:
    """Return the meta table, None where there are no tables yet."""
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'evidence_meta'").get:
        return None
    return read_meta(connection)


def _create(connection: apsw.Connection, *, rebuild: str | None = None) -> None:
    """Make a new file's tables. The folder lock is held: turning WAL on does not wait for others by itself."""
    connection.execute("PRAGMA journal_mode=WAL")
    with _transaction(connection, "BEGIN IMMEDIATE"):
        if _meta_or_none(connection) is None:
            _create_tables(connection)
            if rebuild:
                write_meta(connection, "rebuild", rebuild)
            else:
                write_meta(connection, "unconfirmed", uuid4().hex)


def _create_tables(connection: apsw.Connection) -> None:
    connection.execute(TABLES)
    write_meta(connection, "schema_rev", SCHEMA_REV)
    write_meta(connection, "tokenizer_rev", TOKENIZER_REV)


def _set_aside(path: Path, identity: Identity | None, *, reason: str) -> None:
    """Rename a file that cannot be used and leave an empty one that says why, unless somebody already did."""
    with _locked(path.parent):
        if identity is None or _identity(path) != identity:
            return
        word = "corrupt" if reason == "damaged" else reason
        aside = f"{path.name}.{word}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{identity[1]}"
        for suffix in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                Path(f"{path}{suffix}").rename(path.with_name(f"{aside}{suffix}"))
        connection = _raw(path)
        _create(connection, rebuild=reason)
        connection.close()


@contextmanager
def _transaction(connection: apsw.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends some failed transactions itself
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock against other threads and processes."""
    with (folder / "lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _identity(path: Path) -> Identity | None:
    """Return what tells a replaced file from the one that was opened."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def _translated() -> Iterator[None]:
    """Raise engine and disk errors as ProviderError."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as exc:
        raise IndexBusy("the index is busy") from exc
    except apsw.FullError as exc:
        raise IndexFull("no space left for the index") from exc
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as exc:
        raise IndexNotWritable("the index file cannot be opened for writing") from exc
    except apsw.IOError as exc:
        raise IndexUnreadable("the disk with the index failed to read or write") from exc
    except OSError as exc:
        raise _from_os(exc) from exc


def _from_os(exc: OSError) -> ProviderError:
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return IndexFull("no space left for the index")
    if exc.errno == errno.EIO:
        return IndexUnreadable("the disk with the index failed to read or write")
    return IndexNotWritable("the index folder cannot be written")
