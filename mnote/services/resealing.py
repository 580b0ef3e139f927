"""Sealing every stored secret anew, so that an old secret key is needed no more."""

from __future__ import annotations

from dataclasses import dataclass

from django.apps import apps
from django.db import transaction
from django.db.models import Model, QuerySet

from mnote.sealing import Unsealable, reseal, sealed_columns
from mnote.services import audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Resealed:
    """How many secrets were sealed anew, and which rows ("app.Model: name") hold one that no known key opens."""

    count: int
    unreadable: tuple[str, ...]


@transaction.atomic
def reseal_all() -> Resealed:
    """Seal every registered secret with the newest key. One that cannot be read stays as it is."""
    count, unreadable = 0, []
    for label, columns in sealed_columns.items():
        for row in _rows(apps.get_model(label)).select_for_update():
            done, failed = _reseal_row(row, columns)
            count += done
            unreadable += [f"{label}: {row}"] * failed
    audit.record(principal=None, action="secrets.reseal", facts={"count": count, "unreadable": len(unreadable)})
    return Resealed(count=count, unreadable=tuple(unreadable))


def _reseal_row(row: Model, columns: tuple[str, ...]) -> tuple[int, int]:
    done = failed = 0
    for column in columns:
        sealed = getattr(row, column)
        if not sealed:
            continue
        try:
            setattr(row, column, reseal(sealed))
            done += 1
        except Unsealable:
            failed += 1
    # Not `save`: nothing about the row changes that anybody could see.
    _rows(type(row)).filter(pk=row.pk).update(**{column: getattr(row, column) for column in columns})
    return done, failed


def _rows(model: type[Model]) -> QuerySet[Model]:
    return model._default_manager.all()  # noqa: SLF001 Django's public API
