"""Which requests a server works on, which wait, and which it refuses before any work is done.

Beyond the number of requests it can work on in parallel, a server only gets slower: each answer
comes later, until all of them miss their deadline and all work is wasted. So the number of running
requests is limited; the others wait, and those that have waited too long to be answered in time are
refused.

A refusal takes a twentieth of the time of an answer, and clients that retry at once would keep a
server busy with nothing but refusals. So a request that is bound to be refused waits first, and
refusals are paced: there are no more of them than requests that could have been answered in the
same time.

The newest request of a key goes first. The oldest would be answered just before or after its
deadline; the client of the newest is certainly still waiting. Keys with waiting requests take
turns, and no key gets all the slots: a key that floods the server waits behind its own requests,
not in front of everyone else's.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

# The estimated duration of a request moves by this share with each request: three times as far up
# as down, so that a quarter of the requests take longer than estimated.
_STEP: Final = 0.02
_UP: Final = 3
_FIRST_ESTIMATE: Final = 0.2
_MIN_ESTIMATE: Final = 0.001
_MAX_RETRY_SECONDS: Final = 10.0
# The longest time to hold back a refusal.
_MAX_HELD_SECONDS: Final = 6.0


@dataclass(eq=False, slots=True)
class Ticket:
    """One request; `latest` is when it must start to be answered in time."""

    key: Hashable
    latest: float
    begun: float | None = None
    has_left: bool = False


class Admission:
    """`slots` requests at once, each to be answered within `seconds` of its arrival."""

    def __init__(self, slots: int, seconds: float) -> None:
        self._slots = slots
        self._slots_per_key = max(1, slots - max(1, slots // 4))
        self._seconds = seconds
        self._estimate = _FIRST_ESTIMATE
        self._next_refusal = 0.0
        self._running: Counter[Hashable] = Counter()
        self._waiting: OrderedDict[Hashable, list[Ticket]] = OrderedDict()

    @property
    def running(self) -> int:
        return self._running.total()

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    def arrive(self, key: Hashable, arrived: float, now: float) -> Ticket:
        """Add a request, which may start at once if a slot is free."""
        ticket = Ticket(key, max(arrived + self._seconds - self._estimate, now))
        self._waiting.setdefault(key, []).append(ticket)
        return ticket

    def begin(self, now: float) -> list[Ticket]:
        """Start the requests whose turn it is; they count as running until they leave."""
        begun: list[Ticket] = []
        while self.running < self._slots and (ticket := self._take_next(now)) is not None:
            ticket.begun = now
            self._running[ticket.key] += 1
            begun.append(ticket)
        return begun

    def leave(self, ticket: Ticket, now: float) -> None:
        """Remove a request that was answered, refused, or cancelled by its client. Removing it
        again changes nothing.
        """
        if ticket.has_left:
            return
        ticket.has_left = True
        if ticket.begun is None:
            line = self._waiting.get(ticket.key, [])
            if ticket in line:  # else it was too late when its turn came
                line.remove(ticket)
                self._forget_if_empty(ticket.key)
            return
        self._running[ticket.key] -= 1
        if not self._running[ticket.key]:
            del self._running[ticket.key]
        self._learn(now - ticket.begun)

    def refuse(self, now: float) -> float:
        """Return how many seconds to wait before a request is told that it is refused."""
        pace = self._estimate / self._slots
        self._next_refusal = max(self._next_refusal, now) + pace
        if self._next_refusal > now + _MAX_HELD_SECONDS:
            self._next_refusal = now + _MAX_HELD_SECONDS
        return self._next_refusal - now

    def retry_after(self) -> float:
        """Return the seconds after which the waiting requests will be done. The header that a
        client gets is never less, since it is rounded up.
        """
        return min(1.0 + self.waiting * self._estimate / self._slots, _MAX_RETRY_SECONDS)

    def _take_next(self, now: float) -> Ticket | None:
        for key, line in list(self._waiting.items()):
            if self._running[key] >= self._slots_per_key:
                continue
            ticket = line.pop()
            self._waiting.move_to_end(key)
            self._forget_if_empty(key)
            if ticket.latest >= now:
                return ticket
        return None

    def _forget_if_empty(self, key: Hashable) -> None:
        if not self._waiting[key]:
            del self._waiting[key]

    def _learn(self, took: float) -> None:
        factor = 1 + _STEP * _UP if took > self._estimate else 1 - _STEP
        self._estimate = max(self._estimate * factor, _MIN_ESTIMATE)


# Rate limits: a token bucket per key.


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
