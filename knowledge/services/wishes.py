"""Wishes to a provider that it could not fulfil: when they are told again."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from knowledge.models import ProviderWish
from knowledge.providers.base import ProviderError

_FIRST = 2.0
_MOST_DOUBLINGS = 20


def put_off(wish: ProviderWish, error: ProviderError, *, longest: float) -> None:
    """Set when a wish is told again and why it was not fulfilled, without saving it: when the provider says, else ever
    more seldom, at most `longest` seconds later."""
    seconds = error.retry_after or min(longest, _FIRST * 2 ** min(wish.attempts, _MOST_DOUBLINGS))
    wish.attempts, wish.reason_code = wish.attempts + 1, error.code
    wish.next_try_at = timezone.now() + timedelta(seconds=seconds)
