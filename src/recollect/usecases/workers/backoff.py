"""What the workers do when there is nothing to do, or when something cannot work: pause.

What cannot work, a model or a store, is left alone for a while, twice as long each time, so that it
is neither hammered nor forgotten.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final

from recollect.core.errors import ModelBusy, ModelSlow, RecollectError

# How long work can go unnoticed when nobody says that there is some.
_POLL_SECONDS: Final = 10.0
LEAST_PAUSE: Final = 1.0
_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 60.0
# Of those, in a row, that are waited for by somebody who wants the work done.
_MOST_RESTS: Final = 6

Sleep = Callable[[float], Awaitable[None]]
Wait = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Backoff:
    """A pause after trouble: how long it is, when it ends, and the how manieth in a row it is."""

    error: RecollectError
    seconds: float
    until: float
    number: int = 1


def backoff_after(error: RecollectError, before: Backoff | None, now: float) -> Backoff:
    seconds = _FIRST_REST if before is None else min(2 * before.seconds, _LONGEST_REST)
    if isinstance(error, ModelBusy):
        seconds = max(seconds, error.seconds)
    return Backoff(error, seconds, now + seconds, 1 if before is None else before.number + 1)


def is_transient(rest: Backoff) -> bool:
    """Whether somebody who wants the work done should be kept waiting: for a model that works, but
    is busy or slow, and not for long.
    """
    is_passing = isinstance(rest.error, ModelBusy | ModelSlow)
    return is_passing and rest.seconds <= _LONGEST_REST and rest.number <= _MOST_RESTS


def seconds_left(rests: Collection[Backoff], now: float) -> float:
    """Until the first of some rests ends."""
    return max(0.0, min(rest.until for rest in rests) - now)


async def wait_for_news(
    wait_for_work: Wait, rests: Collection[Backoff], *, sleep: Sleep, now: float
) -> None:
    """Until somebody says that there is work, or a rest ends, or it is time to look anyway."""
    if rests:
        # Work that must wait for its model would wake us again at once, and in vain.
        await sleep(LEAST_PAUSE)
    pauses = [rest.until - now for rest in rests]
    await wait_for_work(max(0.0, min([_POLL_SECONDS, *pauses])))
