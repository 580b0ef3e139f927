"""What ends when an account is closed, beyond the kernel's own sessions and tokens: apps add theirs here, so that the
kernel need not know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnote.models import User

#: Ends what a person holds, inside the caller's transaction, and gives how many there were.
Ender = Callable[["User"], int]

_enders: dict[str, Ender] = {}
_at_sign_out: list[Ender] = []


def register(name: str, ender: Ender) -> None:
    """Let `ender` run whenever an account is closed; `name` says in the audit entry what was ended."""
    _enders[name] = ender


def register_sign_out(ender: Ender) -> None:
    """Let `ender` run whenever a person signs out."""
    _at_sign_out.append(ender)


def signed_out(user: User) -> None:
    """End what is there for a person only while they are signed in."""
    for ender in _at_sign_out:
        ender(user)


def end_all(user: User) -> dict[str, int]:
    """End everything registered, and say how many of each there were."""
    return {name: ender(user) for name, ender in _enders.items()}
