"""What workers do when something cannot work: back off.

What cannot work, a model or a store, is left alone for a while, twice as long each time, so that it
is neither hammered nor forgotten.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from recollect.core.backoff import backoff_seconds
from recollect.core.errors import ModelBusy, ModelSlow, RecollectError, StoreError

_FIRST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 60.0
# A caller who wants the work done waits for so many backoffs in a row.
_MAX_IN_A_ROW: Final = 6

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BackoffEvent:
    """Work of one kind stands still for `seconds`: that of a model, of a space, or of the store."""

    of: str
    error: RecollectError
    seconds: float


@dataclass(frozen=True, slots=True)
class Backoff:
    """A pause after an error: how long it is, when it ends, and how many there were in a row."""

    error: RecollectError
    seconds: float
    until: float
    number: int = 1


def backoff_after(error: RecollectError, before: Backoff | None, now: float) -> Backoff:
    if before is None:
        number, seconds = 1, _FIRST_SECONDS
    else:  # doubled from the last wait, which may be one that a busy model asked for
        number, seconds = before.number + 1, backoff_seconds(2, before.seconds, _LONGEST_SECONDS)
    if isinstance(error, ModelBusy):
        seconds = max(seconds, error.seconds)
    return Backoff(error, seconds, now + seconds, number)


def is_transient(backoff: Backoff) -> bool:
    """Whether a caller who wants the work done should wait: for a model that works, but is busy or
    slow, and not for long.
    """
    is_passing = isinstance(backoff.error, ModelBusy | ModelSlow)
    return is_passing and backoff.seconds <= _LONGEST_SECONDS and backoff.number <= _MAX_IN_A_ROW


class Backoffs:
    """What is backing off, each kind of work by its key. `report` is called for each new one."""

    def __init__(self, report: Callable[[BackoffEvent], None], now: Callable[[], float]) -> None:
        self._report = report
        self._now = now
        self._by_key: dict[Hashable, Backoff] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Backoff]:
        return iter(self._by_key.values())

    def seconds_left(self) -> float:
        """Until the first of them ends."""
        return max(0.0, min(backoff.until for backoff in self) - self._now())

    async def attempt(
        self, key: Hashable, of: str, work: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        """Do the work, unless it is backing off; None as well when it fails, and then it backs off.
        An error of the store is raised: no other work could be done either.
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
