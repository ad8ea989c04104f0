"""Erase everything that an owner has stored, and search for what remains of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from recollect.core.memory.memory import Scope
from recollect.core.memory.paging import MAX_PAGE, Cursor
from recollect.core.privacy.erasure import Erased, ErasureReport, Marks, Remain, marks_of
from recollect.ports.stores import MemoryStore


class OwnerEraser(Protocol):
    """Removes all that an owner has, and searches the store for what is left."""

    @property
    def unsearched(self) -> str:
        """Where the bytes stay although no query finds them, and what to do; else nothing."""

    async def erase_owner(self, owner: str) -> Erased:
        """Erase every memory of an owner, with all that was made of it."""

    async def remains(self, marks: Marks) -> tuple[Sequence[str], Sequence[Remain]]:
        """Where was searched, and what was found there of what should be gone."""


async def erase_owner(
    store: MemoryStore, eraser: OwnerEraser, owner: str, *, dry_run: bool = False
) -> ErasureReport:
    """All memories of an owner, forgotten and sensitive ones too. The report is not made of what
    was deleted, but of a search of the whole store afterwards.
    """
    marks = Marks(owner=owner)
    count = 0
    after: Cursor | None = None
    while page := await store.page(owner, Scope(forgotten=True), after, MAX_PAGE):
        marks = marks_of(page, marks)
        count += len(page)
        after = Cursor.after(page[-1])
    if dry_run:
        return ErasureReport(owner, Erased(count))
    erased = await eraser.erase_owner(owner)
    searched, remains = await eraser.remains(marks)
    return ErasureReport(
        owner, erased, tuple(searched), tuple(remains), unsearched=eraser.unsearched
    )
