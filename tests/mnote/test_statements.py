"""Statements that are written once."""

from __future__ import annotations

import pytest

from mnote.models import Workspace
from mnote.statements import select
from tests.factories.mnote import WorkspaceFactory

pytestmark = pytest.mark.django_db


def test_rows_have_one_of_the_values_of_every_field() -> None:
    one, other, third = (WorkspaceFactory(name=name) for name in ("one", "other", "third"))

    found = select(Workspace, ("id", "name"), id=[one.pk, other.pk, "ws_none"], name=["one", "third"])

    assert found == [(one.pk, "one")]
    assert {pk for (pk,) in select(Workspace, ("id",), id=[one.pk, other.pk, third.pk])} == {
        one.pk,
        other.pk,
        third.pk,
    }


def test_no_value_leaves_no_row() -> None:
    one = WorkspaceFactory()

    assert select(Workspace, ("id",), id=[one.pk], name=[]) == []
