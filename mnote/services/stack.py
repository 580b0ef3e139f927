"""The kernel's own layers for `check_stack`."""

from __future__ import annotations

from mnote.services import readiness
from mnote.stack import LayerReport, layer

_SENTENCES = {
    "database": "The database does not answer. Look at its server, and at the MNOTE_DB_ settings.",
    "migrations": "The database is older than the program. Run: manage.py migrate",
    "broker": "The broker does not answer. Nothing is lost: job rows wait, but new work starts late.",
    "worker": "No worker has shown a sign of life for a minute. Start one: manage.py serve",
}


def _report(name: str) -> LayerReport:
    found = {each.name: each.is_ok for each in readiness.look()}
    is_ok = found.get(name, False)
    return LayerReport(name=name, is_ok=is_ok, sentence="" if is_ok else _SENTENCES[name])


@layer("database")
def database() -> LayerReport:
    return _report("database")


@layer("migrations")
def migrations() -> LayerReport:
    return _report("migrations")


@layer("broker")
def broker() -> LayerReport:
    return _report("broker")


@layer("worker")
def worker() -> LayerReport:
    return _report("worker")
