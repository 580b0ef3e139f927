from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from mnote.api.pagination import KeysetPagination
from mnote.exceptions import Invalid
from mnote.models import Job
from tests.factories.mnote import JobFactory

START = datetime(2026, 1, 1, tzinfo=UTC)


class Jobs:
    ordering = ("-run_at", "id")


class Kinds:
    ordering = ("kind", "-id")


def page(view: type, **query: object) -> tuple[list[Job], str | None]:
    pagination = KeysetPagination()
    request = Request(APIRequestFactory().get("/", query))
    rows = pagination.paginate_queryset(Job.objects.all(), request, view())
    return rows, pagination.get_paginated_response([]).data["nextCursor"]


def walk(view: type, limit: int) -> list[Job]:
    found, cursor = page(view, limit=limit)
    while cursor:
        rows, cursor = page(view, limit=limit, cursor=cursor)
        assert len(rows) <= limit
        found += rows
    return found


@pytest.fixture
def jobs(db: None) -> list[Job]:
    """Many rows of one time and kind, so that only the key tells them apart."""
    return [
        JobFactory(run_at=START + timedelta(microseconds=number // 4), kind=f"kind{number % 3}") for number in range(13)
    ]


@pytest.mark.parametrize("view", [Jobs, Kinds])
@pytest.mark.parametrize("limit", [1, 2, 5, 12, 13, 50])
def test_pages_together_hold_each_row_once_and_in_order(jobs: list[Job], view: type, limit: int) -> None:
    assert walk(view, limit) == list(Job.objects.order_by(*view.ordering))


def test_next_page_is_not_moved_by_rows_that_come_and_go(jobs: list[Job]) -> None:
    first, cursor = page(Jobs, limit=4)
    expected = list(Job.objects.order_by(*Jobs.ordering))[4:8]

    JobFactory(run_at=START + timedelta(days=1))
    Job.objects.filter(pk=first[-1].pk).delete()
    second, _ = page(Jobs, limit=4, cursor=cursor)

    assert second == expected


def test_page_is_capped(db: None) -> None:
    JobFactory.create_batch(201)

    assert len(page(Jobs, limit=100_000)[0]) == 200
    assert len(page(Jobs)[0]) == 50


def test_page_takes_one_query_wherever_it_lies(jobs: list[Job], django_assert_num_queries) -> None:
    _, cursor = page(Jobs, limit=10)

    with django_assert_num_queries(1):
        page(Jobs, limit=2, cursor=cursor)


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "x", "é", "a" * 5_000, encoded([]), encoded(["2026-01-01"]), encoded(["no time", "x"]), encoded([1, 2]),
        encoded(["2026-01-01T00:00:00+00:00", "a\0"]), encoded(["2026-01-01T00:00:00+00:00", "\ud800"]),
        encoded([None, None]), encoded({"a": 1}), encoded(["9" * 5_000, "x"]), encoded([["a"], {}]),
    ],
)  # fmt: skip
def test_a_cursor_of_another_list_is_refused(jobs: list[Job], cursor: str) -> None:
    with pytest.raises(Invalid) as error:
        page(Jobs, cursor=cursor)

    assert list(error.value.extra["errors"]) == ["cursor"]


@pytest.mark.parametrize("limit", ["0", "-1", "many", "1.5", "²", "1e3", "9" * 20])
def test_a_limit_that_is_no_number_is_refused(db: None, limit: str) -> None:
    with pytest.raises(Invalid) as error:
        page(Jobs, limit=limit)

    assert list(error.value.extra["errors"]) == ["limit"]
