"""A little of what waits, done before a question by a process that is about to answer it.

A command on the local store has no worker beside it. So it embeds and reads a first batch itself:
what was stored a moment ago is then found by meaning, and a long backlog delays nobody for long.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from recollect.core.errors import RecollectError
from recollect.usecases.workers.backoff import Backoffs
from recollect.usecases.workers.worker import Step

SECONDS: Final = 10.0
"""For all of it, loading the model included, which takes a second or less where the machine is not
busy. What is not done by then is given back."""


async def catch_up(steps: Sequence[Step], seconds: float = SECONDS) -> None:
    """One batch of each step, in their order. Nothing fails for it: a store that cannot be written,
    or a model that cannot work, is reported by the recall itself.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            for step in steps:
                with suppress(RecollectError):
                    await step.work(Backoffs(lambda _: None, time.monotonic))
