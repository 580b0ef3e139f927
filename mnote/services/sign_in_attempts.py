"""Failed sign-ins, counted by name and address in the cache, so that passwords cannot be tried one after the other."""

from __future__ import annotations

from django.core.cache import cache
from django.utils.translation import gettext as _

from mnote.exceptions import RateLimited
from mnote.ids import text_key

WINDOW_SECONDS = 15 * 60
MAX_FAILURES = 10


def check(*, username: str, address: str) -> None:
    """Pass while there were fewer than ten failures in the last 15 minutes, whether or not the name exists.

    Raises:
        RateLimited: too many; a right password does not help before the window ends.
    """
    if cache.get(_key(username, address), 0) >= MAX_FAILURES:
        raise RateLimited(_("Too many attempts. Please wait 15 minutes, then try again."))


def note_failure(*, username: str, address: str) -> None:
    """Count one failure. The window starts with the first one."""
    key = _key(username, address)
    if cache.add(key, 1, WINDOW_SECONDS):
        return
    try:
        cache.incr(key)
    except ValueError:  # the window ended in between
        cache.set(key, 1, WINDOW_SECONDS)


def forget(*, username: str, address: str) -> None:
    """A successful sign-in ends the count."""
    cache.delete(_key(username, address))


def _key(username: str, address: str) -> str:
    return f"sign-in:{text_key(' '.join([username.casefold(), address]))}"
