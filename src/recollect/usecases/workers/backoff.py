"""Backoff for workers: after a failure, a model or store is left alone for a while, twice as long
each time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from recollect.core.errors import ModelBusy, ModelSlow, RecollectError, StoreError
from recollect.core.retry import MAX_BACKOFFS, WORKER_BACKOFF

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BackoffEvent:
    """Work with a model, a space or the store is paused for `seconds`."""

    of: str
    error: RecollectError
    seconds: float


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause after an error: its length, when it ends, and how many there were in a row."""

    error: RecollectError
    seconds: float
    until: float
    number: int = 1


def backoff_after(error: RecollectError, before: Pause | None, now: float) -> Pause:
    if before is None:
        number, seconds = 1, WORKER_BACKOFF.first
    else:  # doubled from the last wait, which may be one that a busy model asked for
        number = before.number + 1
        seconds = min(WORKER_BACKOFF.growth * before.seconds, WORKER_BACKOFF.longest)
    if isinstance(error, ModelBusy):
        seconds = max(seconds, error.seconds)
    return Pause(error, seconds, now + seconds, number)


def is_transient(backoff: Pause) -> bool:
    """Whether a caller should wait it out: the model works, but is busy or slow, and the pause is
    short.
    """
    is_passing = isinstance(backoff.error, ModelBusy | ModelSlow)
    is_short = backoff.seconds <= WORKER_BACKOFF.longest and backoff.number <= MAX_BACKOFFS
    return is_passing and is_short


class Backoffs:
    """The current pauses, by the key of the work. `report` is called for each new one."""

    def __init__(self, report: Callable[[BackoffEvent], None], now: Callable[[], float]) -> None:
        self._report = report
        self._now = now
        self._by_key: dict[Hashable, Pause] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Pause]:
        return iter(self._by_key.values())

    def seconds_left(self) -> float:
        """Return the time until the first pause ends."""
        return max(0.0, min(backoff.until for backoff in self) - self._now())

    async def attempt(
        self, key: Hashable, of: str, work: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        """Do the work; return None if it is backing off. If it fails, start a backoff and return
        None. A store error is raised: no other work could be done either.
        """
        before = self._by_key.get(key)
        if before is not None and self._now() < before.until:
            return None
        try:
            done = await work()
        except StoreError:
            raise
        except RecollectError as error:
            self._by_key[key] = backoff = backoff_after(error, before, self._now())
            self._report(BackoffEvent(of, error, backoff.seconds))
            return None
        self._by_key.pop(key, None)
        return done
