from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection

from mnote.celery import app  # noqa: F401 registers the transport
from mnote.process.folder_broker import Channel


@pytest.fixture
def channel(tmp_path: Path) -> Iterator[Channel]:
    queue = str(tmp_path / "queue")
    options = {"data_folder_in": queue, "data_folder_out": queue, "control_folder": str(tmp_path / "control")}
    with Connection("folder://localhost/", transport_options=options) as connection:
        yield connection.channel()


def messages(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "queue").iterdir())


def test_messages_leave_in_the_order_they_came(channel: Channel) -> None:
    for number in range(5):
        channel._put("interactive", {"number": number})

    assert [channel._get("interactive")["number"] for _ in range(5)] == [0, 1, 2, 3, 4]


def test_a_message_is_taken_once_and_leaves_no_file(channel: Channel, tmp_path: Path) -> None:
    channel._put("interactive", {"a": 1})
    channel._get("interactive")

    with pytest.raises(Empty):
        channel._get("interactive")
    assert messages(tmp_path) == []


def test_queues_are_apart(channel: Channel) -> None:
    channel._put("bulk", {"a": 1})

    with pytest.raises(Empty):
        channel._get("interactive")
    assert (channel._size("bulk"), channel._size("interactive")) == (1, 0)


def test_a_message_that_is_being_written_is_not_seen(channel: Channel, tmp_path: Path) -> None:
    channel._put("interactive", {"a": 1})
    [whole] = messages(tmp_path)
    whole.rename(whole.with_name(whole.name.partition(".")[0] + ".draft"))

    with pytest.raises(Empty):
        channel._get("interactive")


def test_a_wiped_folder_is_an_empty_queue(channel: Channel, tmp_path: Path) -> None:
    channel._put("interactive", {"a": 1})
    shutil.rmtree(tmp_path / "queue")

    assert channel._size("interactive") == 0
    with pytest.raises(Empty):
        channel._get("interactive")


def test_putting_makes_the_folder_again(channel: Channel, tmp_path: Path) -> None:
    channel._put("interactive", {"a": 1})
    shutil.rmtree(tmp_path / "queue")
    channel._put("interactive", {"a": 2})

    assert channel._get("interactive") == {"a": 2}


def test_a_spoilt_message_is_dropped(channel: Channel, tmp_path: Path) -> None:
    channel._put("interactive", {"a": 1})
    [spoilt] = messages(tmp_path)
    spoilt.write_text('{"a": ')
    channel._put("interactive", {"a": 2})

    assert channel._get("interactive") == {"a": 2}


def test_purge_counts_and_removes(channel: Channel, tmp_path: Path) -> None:
    channel._put("interactive", {"a": 1})
    channel._put("bulk", {"a": 1})

    assert channel._purge("interactive") == 1
    assert channel._size("bulk") == 1
