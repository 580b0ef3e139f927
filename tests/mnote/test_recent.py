"""What was used recently, kept up to a number."""

from __future__ import annotations

from mnote.recent import Recent


def test_what_was_used_last_stays() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)

    assert recent.get("a") == 1
    recent.put("c", 3)

    assert [recent.get(key) for key in ("a", "b", "c")] == [1, None, 3]


def test_entry_is_replaced_and_dropped() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("a", 2)

    assert recent.get("a") == 2
    recent.drop("a")
    recent.drop("a")

    assert recent.get("a") is None


def test_heavy_entries_push_out_what_was_used_longest_ago() -> None:
    recent: Recent[str, str] = Recent(9, weigh=len, most_weight=5)
    recent.put("a", "12")
    recent.put("b", "123")
    recent.put("b", "12")
    recent.put("c", "1")

    assert [recent.get(key) for key in ("a", "b", "c")] == ["12", "12", "1"]
    recent.put("d", "1234")

    assert [recent.get(key) for key in ("a", "b", "c", "d")] == [None, None, "1", "1234"]


def test_one_entry_stays_however_heavy() -> None:
    recent: Recent[str, str] = Recent(9, weigh=len, most_weight=5)
    recent.put("a", "1")
    recent.put("b", "1234567")

    assert [recent.get(key) for key in ("a", "b")] == [None, "1234567"]


def test_entries_are_dropped_by_their_keys() -> None:
    recent: Recent[str, str] = Recent(9, weigh=len, most_weight=9)
    for key in ("a1", "a2", "b1"):
        recent.put(key, "123")

    recent.drop_where(lambda key: key.startswith("a"))
    recent.put("c1", "123456")

    assert [recent.get(key) for key in ("a1", "a2", "b1", "c1")] == [None, None, "123", "123456"]
