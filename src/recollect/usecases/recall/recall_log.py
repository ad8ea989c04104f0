"""Record which memories were recalled, without delaying any recall.

Ids are collected here and written every half minute, and when the process stops. A crash loses at
most the last half minute, which only makes an audit more careful.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.core.errors import StoreError
from recollect.usecases.tasks import repeating

if TYPE_CHECKING:
    from recollect.core.recall.request import Recollection
    from recollect.ports.recall import RecallRecord
    from recollect.ports.stores import Clock

_WRITE_EVERY_SECONDS: Final = 30.0
# Stop collecting above this: the store has been failing for a long time.
_MAX_SHOWN: Final = 100_000


class RecallLog:
    """Use it within `recall_log`."""

    def __init__(self, record: RecallRecord, clock: Clock) -> None:
        self._record = record
        self._clock = clock
        self._shown: set[tuple[str, UUID]] = set()

    def note(self, recollection: Recollection) -> None:
        if len(self._shown) < _MAX_SHOWN:
            self._shown.update((hit.memory.owner, hit.memory.id) for hit in recollection.hits)

    async def write(self) -> None:
        shown, self._shown = self._shown, set()
        for owner in sorted({owner for owner, _ in shown}):
            theirs = {key for key in shown if key[0] == owner}
            try:
                ids = [id for _, id in theirs]
                await self._record.note_recalls(owner, ids, self._clock.now())
            except StoreError:
                self._shown |= theirs  # next time


@asynccontextmanager
async def recall_log(record: RecallRecord, clock: Clock) -> AsyncIterator[RecallLog]:
    """Inside the block, write noted recalls every half minute; write the rest at the end."""
    log = RecallLog(record, clock)
    async with repeating(log.write, _WRITE_EVERY_SECONDS):
        yield log
