"""Export memories, and import them unchanged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.imports.jsonl import ImportResult, import_result
from recollect.core.memory.duplicates import removal_conflict
from recollect.core.memory.ids import check_uuid7
from recollect.core.memory.listing import MAX_PAGE
from recollect.core.memory.memory import EPISODE, Limits, Memory, Scope, check_memory, correct_dates
from recollect.core.memory.standing import without_standing
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
    """Yield the memories of a scope, newest first; sensitive ones only on request."""
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
    """Return those of the memories that exist, forgotten or not, newest first; sensitive ones only
    on request.
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


# Import memories with their ids, dates and versions unchanged.


async def import_memories(
    context: Context, owner: str, memories: Sequence[Memory]
) -> list[ImportResult]:
    """Store the memories that do not exist yet. Existing ones are never changed: the file may be
    older. Imported memories are synced and embedded like any other. The results are in the order of
    the memories.
    """
    now = context.clock.now()
    checked = [
        # A file may come from anyone.
        _check(replace(without_standing(memory), changed_by="import"), context.limits, now)
        for memory in memories
    ]
    checked = await _refuse_removed(context, owner, checked)
    memories = [item for item in checked if isinstance(item, Memory)]
    new = await context.store.add_all(memories)
    taken = [memory.id for memory in memories if memory.id not in new]
    known = await context.store.get_many(owner, taken, forgotten=True) if taken else {}
    outcomes: list[ImportResult] = []
    for item in checked:
        if isinstance(item, ImportResult):
            outcomes.append(item)
        elif item.id in new:
            new.remove(item.id)
            known[item.id] = item  # a later item with the same id is compared with this one
            outcomes.append(ImportResult(item.id, "new"))
        else:
            outcomes.append(_compare(item, known.get(item.id)))
    return outcomes


async def _refuse_removed(
    context: Context, owner: str, items: Sequence[Memory | ImportResult]
) -> list[Memory | ImportResult]:
    """Refuse what was erased, forgotten or replaced here after the file was written. Memories that
    exist here under their own id are compared later.
    """
    memories = [item for item in items if isinstance(item, Memory)]
    texts = {(memory.project, memory.content) for memory in memories if memory.deleted_at is None}
    removed = await context.store.find_removed(owner, texts)
    if not removed:
        return [*items]
    known = await context.store.get_many(owner, [memory.id for memory in memories], forgotten=True)

    def check(item: Memory | ImportResult) -> Memory | ImportResult:
        if isinstance(item, ImportResult) or item.id in known:
            return item
        at = removed.get((item.project, item.content))
        if at is None or item.updated_at > at or item.deleted_at or item.category == EPISODE:
            return item
        error = removal_conflict()
        return ImportResult(item.id, "refused", str(error), error.remedy)

    return [check(item) for item in items]


def _check(memory: Memory, limits: Limits, now: datetime) -> Memory | ImportResult:
    try:
        check_uuid7(memory.id)
        return correct_dates(check_memory(memory, limits), now)
    except InvalidInput as error:
        return ImportResult(memory.id, "refused", str(error), error.remedy)


def _compare(memory: Memory, current: Memory | None) -> ImportResult:
    """Return the outcome for a memory whose id is taken."""
    if current is None:
        reason = "the id belongs to another memory, or to one that was erased"
        return ImportResult(memory.id, "refused", reason, "Store the text again under a new id.")
    return import_result(memory, current)
