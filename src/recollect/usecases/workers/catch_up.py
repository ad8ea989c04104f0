"""Process a little of the backlog before answering a recall.

A command or a program on the local store may have no worker running. So it embeds and reads a
first batch itself: what was stored a moment ago is then found by meaning, and even a long backlog
causes only a short delay. Long memories are left to a worker: one of them may take ten seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from recollect.core.errors import RecollectError
from recollect.usecases.workers.backoff import Backoffs
from recollect.usecases.workers.embed import Budget
from recollect.usecases.workers.worker import Step

BUDGET: Final = Budget(seconds=1.0, max_bytes=8_000)
"""What a command embeds. A text of this length has about 60 passages, half a second's work."""

GRAPH_SECONDS: Final = 0.3
"""How long a command reads memories for the graph: the time for one text of 100,000 characters."""

SECONDS: Final = 5.0
"""The limit for each step, for a machine too busy to keep to the budgets above. Unfinished work is
given back."""


async def catch_up(
    steps: Sequence[Step], backoffs: Backoffs | None = None, seconds: float = SECONDS
) -> bool:
    """Run one batch of each step, in order, and return whether there was anything to do. Errors are
    ignored: the recall itself reports a store that cannot be written or a model that does not work.
    """
    worked = False
    for step in steps:
        with suppress(TimeoutError, RecollectError):
            async with asyncio.timeout(seconds):
                worked |= await step.work(backoffs or new_backoffs())
    return worked


def new_backoffs() -> Backoffs:
    return Backoffs(lambda _: None, time.monotonic)
