"""Tests: SQLite by default, PostgreSQL when MNOTE_TEST_DB=postgres; everything else as embedded."""

import os
import tempfile
from pathlib import Path

_DATA = Path(os.environ.setdefault("MNOTE_DATA_DIR", tempfile.mkdtemp(prefix="mnote-test-")))

from mnote.settings.base import *  # noqa: E402, F403
from mnote.settings.sqlite import sqlite_database  # noqa: E402

SECRET_KEY = "only-for-tests-" + "x" * 40
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_BROKER_URL = "memory://"
if os.environ.get("MNOTE_TEST_DB") == "postgres":
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "mnote",
            "USER": os.environ.get("PGUSER", "mnote"),
            "PASSWORD": os.environ.get("PGPASSWORD", ""),
            "HOST": os.environ.get("PGHOST", "127.0.0.1"),
            "PORT": os.environ.get("PGPORT", "5432"),
            "ATOMIC_REQUESTS": False,
        }
    }
else:
    DATABASES = {"default": sqlite_database(_DATA / "mnote.sqlite3")}
    DATABASES["default"]["TEST"] = {"NAME": str(_DATA / "test.sqlite3")}
LOGGING_CONFIG = None
MNOTE_SETTLE_SECONDS = 0.0
