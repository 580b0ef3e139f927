"""The command lines of the long-running programs."""

from __future__ import annotations

import sys

from django.conf import settings

from mnote.process.supervisor import Child

_WEB_KILL_SECONDS = 4
_APP = ("--app", "mnote", "worker")


def web(*, host: str, port: int) -> Child:
    """The web server: one ASGI process; open event streams get a few seconds when it stops."""
    options = ["--interface", "asginl", "--host", host, "--port", str(port), "--workers", "1", "--no-ws"]
    options += [
        "--working-dir",
        str(settings.BASE_DIR),
        "--workers-kill-timeout",
        str(_WEB_KILL_SECONDS),
        "--log-level",
        "warning",
    ]
    return Child(name="web", command=(sys.executable, "-m", "granian", *options, "mnote.asgi:application"))


def worker() -> Child:
    """The worker with the clock inside: threads, both queues, and none of the chatter between workers."""
    options = ["--pool", "threads", "--concurrency", str(settings.MNOTE_WORKER_THREADS), "--queues", "interactive,bulk"]
    options += ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
    options += ["--beat", "--schedule", str(settings.MNOTE_DATA_DIR / "clock")]
    return Child(
        name="worker",
        command=(sys.executable, "-m", "celery", "--quiet", "--workdir", str(settings.BASE_DIR), *_APP, *options),
    )


def agent_host() -> Child:
    """The process that starts and watches the opencode of each person and root."""
    return Child(name="agents", command=(sys.executable, str(settings.BASE_DIR / "manage.py"), "agent_host"))


def watcher() -> Child:
    """The process that hears of changed files and asks for a look at them."""
    return Child(name="watch", command=(sys.executable, str(settings.BASE_DIR / "manage.py"), "watch"))
