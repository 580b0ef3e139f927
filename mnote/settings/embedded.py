"""One machine, one command, no other service: SQLite and a broker in the data folder."""

from mnote.settings.base import *  # noqa: F403
from mnote.settings.base import MNOTE_DATA_DIR
from mnote.settings.secret_key import load_or_create
from mnote.settings.sqlite import sqlite_database

SECRET_KEY = load_or_create(MNOTE_DATA_DIR)
DATABASES = {"default": sqlite_database(MNOTE_DATA_DIR / "mnote.sqlite3")}

_BROKER_DIR = MNOTE_DATA_DIR / "broker"
CELERY_BROKER_URL = "folder://localhost/"
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "data_folder_in": str(_BROKER_DIR / "queue"),
    "data_folder_out": str(_BROKER_DIR / "queue"),
    "control_folder": str(_BROKER_DIR / "control"),
    "polling_interval": 0.1,
}
