"""What a person's settings may hold: apps say it for the keys that are theirs, for the kernel knows none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnote.models import User

#: Gives the sentence on why a person may not set a key to a value, "" when they may.
Rule = Callable[["User", str, Any], str]

_rules: dict[str, Rule] = {}


def register(prefix: str, rule: Rule) -> None:
    """Let `rule` judge every setting whose key begins with `prefix`."""
    _rules[prefix] = rule


def objection(user: User, key: str, value: Any) -> str:
    """Return why a setting cannot be kept, "" when it can. Keys that nobody registered may hold anything."""
    found = (rule(user, key, value) for prefix, rule in _rules.items() if key.startswith(prefix))
    return next(filter(None, found), "")
