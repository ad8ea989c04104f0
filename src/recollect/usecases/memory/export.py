"""Export the memories of a scope, page by page: only one page is held in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from recollect.core.memory.memory import Memory, Scope
from recollect.core.memory.paging import MAX_PAGE
from recollect.ports.service import Service


@dataclass(slots=True)
class Taken:
    """Counts exported memories, and the sensitive ones that were left out."""

    exported: int = 0
    left_out: int = 0


async def export_pages(
    recollect: Service, scope: Scope, taken: Taken, *, sensitive: bool
) -> AsyncIterator[Memory]:
    """The memories of a scope, newest first; sensitive ones only on request."""
    cursor: str | None = None
    while True:
        page = await recollect.page(scope, cursor, MAX_PAGE)
        for memory in page.memories:
            if memory.is_sensitive and not sensitive:
                taken.left_out += 1
                continue
            taken.exported += 1
            yield memory
        cursor = page.next_cursor
        if cursor is None:
            return
