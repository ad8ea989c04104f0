"""How tests wait: for an event, and for as long as a busy machine may need."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeVar

from recollect.core.admin.timeouts import TIMEOUTS
from recollect.core.recall.settings import RecallSettings

SECONDS: Final = 120
# A busy machine must not make anything time out. `tests/conftest.py` applies the factor to
# everything that is built from settings; the rest uses the values below.
TIMEOUT_FACTOR: Final = 60
UNHURRIED: Final = TIMEOUTS.scaled(TIMEOUT_FACTOR)
DEFAULT_SETTINGS: Final = RecallSettings().scaled(TIMEOUT_FACTOR)
_STEP: Final = 0.01

Answer = TypeVar("Answer")


def wait_until(condition: Callable[[], Answer | Literal[False] | None]) -> Answer:
    """Return the condition's first true answer."""
    until = time.monotonic() + SECONDS
    while not (answer := condition()):
        assert time.monotonic() < until, f"waited {SECONDS} seconds in vain"
        time.sleep(_STEP)  # the awaited process needs the processor
    return answer


async def wait_until_async(condition: Callable[[], Awaitable[bool]]) -> None:
    """Return when the condition holds."""
    until = time.monotonic() + SECONDS
    while not await condition():
        assert time.monotonic() < until, f"waited {SECONDS} seconds in vain"
        await asyncio.sleep(_STEP)
