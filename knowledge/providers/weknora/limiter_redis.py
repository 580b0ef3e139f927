"""The limiter of many hosts: sorted sets in Redis, each place with the time at which it ends."""

from __future__ import annotations

import logging
import time
from typing import Any

import redis

from knowledge.providers.weknora.limiter import MemoryLimiter

log = logging.getLogger(__name__)

#: How long a Redis that gave no answer is left alone.
_AWAY_SECONDS = 10.0

_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[3]), redis.call('PTTL', KEYS[1])))
return 1
"""
_HOLDERS = """
local time = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time[1] * 1000 + math.floor(time[2] / 1000))
return redis.call('ZRANGE', KEYS[1], 0, -1)
"""
_REST = """
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) end
"""


class RedisLimiter:
    """For all workers that share a Redis. While it is away each process limits itself."""

    def __init__(self, url: str, *, prefix: str = "mnote:limits:") -> None:
        self._redis = redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2, decode_responses=True)
        self._prefix = prefix
        self._alone = MemoryLimiter()
        self._away_until = 0.0

    def take(self, name: str, holder: str, *, limit: int, seconds: float) -> bool:
        taken = self._ask(_TAKE, f"places:{name}", holder, limit, round(seconds * 1000))
        return self._alone.take(name, holder, limit=limit, seconds=seconds) if taken is None else bool(taken)

    def give_back(self, name: str, holder: str) -> None:
        self._alone.give_back(name, holder)
        self._ask("redis.call('ZREM', KEYS[1], ARGV[1])", f"places:{name}", holder)

    def holders(self, name: str) -> frozenset[str]:
        return frozenset(self._ask(_HOLDERS, f"places:{name}") or self._alone.holders(name))

    def rest(self, name: str, seconds: float) -> None:
        self._alone.rest(name, seconds)
        self._ask(_REST, f"rest:{name}", max(1, round(seconds * 1000)))

    def resting(self, name: str) -> float:
        left = self._ask("return redis.call('PTTL', KEYS[1])", f"rest:{name}")
        return max(self._alone.resting(name), 0.0 if left is None else max(0, int(left)) / 1000)

    def _ask(self, script: str, name: str, *arguments: Any) -> Any:
        """Run a script on one key. None when Redis gives no answer, or the script returns none."""
        if time.monotonic() < self._away_until:
            return None
        try:
            return self._redis.eval(script, 1, self._prefix + name, *arguments)
        except redis.RedisError:
            self._away_until = time.monotonic() + _AWAY_SECONDS
            log.warning("the shared limits cannot be reached; this process limits itself")
            return None
