"""Export the memories of a scope, page by page: only one page is held in memory; or chosen ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Memory, Scope
from recollect.core.memory.paging import MAX_PAGE
from recollect.ports.service import Service

if TYPE_CHECKING:
    from recollect.usecases.context import Context


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


async def export_chosen(
    context: Context, owner: str, ids: Collection[UUID], *, sensitive: bool
) -> tuple[list[Memory], Taken]:
    """Those of the memories that exist, forgotten or not, newest first; sensitive ones only on
    request.
    """
    if len(ids) > MAX_PAGE:
        raise InvalidInput(
            f"{len(ids)} memories are more than {MAX_PAGE}",
            field="ids",
            remedy=f"Export at most {MAX_PAGE} at once.",
        )
    found = await context.store.get_many(owner, ids, forgotten=True)
    chosen = [memory for memory in found.values() if sensitive or not memory.is_sensitive]
    chosen.sort(key=lambda memory: (memory.created_at, memory.id), reverse=True)
    return chosen, Taken(len(chosen), len(found) - len(chosen))
