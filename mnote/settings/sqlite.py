"""The SQLite recipe: readers never wait, writers queue for up to 20 s, nothing fails with "database is locked"."""

from pathlib import Path
from typing import Any

_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY;"
    " PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-8000; PRAGMA foreign_keys=ON;"
)


def sqlite_database(path: Path) -> dict[str, Any]:
    """Return Django's database settings for the file at `path`.

    IMMEDIATE takes the write lock when a transaction starts: a transaction that reads first and writes later would
    otherwise fail at once when another writer came between. So no read-only code may open a transaction.
    """
    options = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": _PRAGMAS}
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": 0,
        "ATOMIC_REQUESTS": False,
        "OPTIONS": options,
    }
