"""How often each key may do something: a token bucket."""

from __future__ import annotations

from collections.abc import Hashable


class RateLimit:
    """`per_minute` for each key, which may be used all at once; None means no limit."""

    def __init__(self, per_minute: int | None) -> None:
        self._per_minute = per_minute
        self._used: dict[Hashable, tuple[float, float]] = {}

    def spend(self, key: Hashable, count: int, now: float) -> float:
        """Use `count` and return 0, or use nothing and return the seconds to wait. A single use may
        exceed what is left, so that a batch of any size gets through; it is then paid back by
        waiting longer.
        """
        if self._per_minute is None:
            return 0.0
        rate = self._per_minute / 60
        used, since = self._used.get(key, (0.0, now))
        used = max(used - (now - since) * rate, 0.0)
        if used + 1 > self._per_minute:
            return (used + 1 - self._per_minute) / rate
        self._used[key] = (used + count, now)
        return 0.0
