"""A little of what waits, done before a question by a process that is about to answer it.

A command on the local store has no worker beside it. So it embeds and reads a first batch itself:
what was stored a moment ago is then found by meaning, and a long backlog delays nobody for long.
Long memories are left to a worker: one of them may take ten seconds.
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
"""What a command embeds. A text of this length has some 60 passages, half a second's work."""

GRAPH_SECONDS: Final = 0.3
"""How long a command reads memories for the graph. A text of 100,000 characters takes so long."""

SECONDS: Final = 5.0
"""For each step, on a machine that is too busy to keep to that. What is not done by then is given
back."""


async def catch_up(steps: Sequence[Step], seconds: float = SECONDS) -> None:
    """One batch of each step, in their order. Nothing fails for it: a store that cannot be written,
    or a model that cannot work, is reported by the recall itself.
    """
    for step in steps:
        with suppress(TimeoutError, RecollectError):
            async with asyncio.timeout(seconds):
                await step.work(Backoffs(lambda _: None, time.monotonic))
