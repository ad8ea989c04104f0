"""Erase everything an owner has stored, and search for anything that remains."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from recollect.core.memory.listing import MAX_PAGE, Cursor
from recollect.core.memory.memory import Scope
from recollect.core.privacy.erasure import Erased, ErasureReport, Marks, Remain, marks_of
from recollect.ports.stores import MemoryStore


class OwnerEraser(Protocol):
    """Removes all data of an owner, and searches the store for what is left."""

    @property
    def unsearched(self) -> str:
        """Where bytes remain although no query finds them, and what to do; empty otherwise."""

    async def erase_owner(self, owner: str) -> Erased:
        """Erase every memory of an owner, and everything derived from it."""

    async def remains(self, marks: Marks) -> tuple[Sequence[str], Sequence[Remain]]:
        """Return the places searched, and what was found there that should be gone."""


async def erase_owner(
    store: MemoryStore, eraser: OwnerEraser, owner: str, *, dry_run: bool = False
) -> ErasureReport:
    """Erase all memories of an owner, including forgotten and sensitive ones. The report does not
    rely on counts of deleted rows, but on a search of the whole store afterwards.
    """
    marks = Marks(owner=owner)
    count = 0
    after: Cursor | None = None
    while page := await store.page(owner, Scope(forgotten=True), after, MAX_PAGE):
        marks = await asyncio.to_thread(marks_of, page, marks)
        count += len(page)
        after = Cursor.after(page[-1])
    if dry_run:
        return ErasureReport(owner, Erased(count))
    erased = await eraser.erase_owner(owner)
    searched, remains = await eraser.remains(marks)
    return ErasureReport(
        owner, erased, tuple(searched), tuple(remains), unsearched=eraser.unsearched
    )
