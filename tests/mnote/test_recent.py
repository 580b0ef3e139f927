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
