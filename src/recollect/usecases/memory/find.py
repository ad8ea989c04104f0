"""Find one memory by its id or a short one, or list many."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.errors import NotFound
from recollect.core.memory import ids as shortened
from recollect.core.memory.ids import SHORTEST, IdPart
from recollect.core.memory.links import last
from recollect.core.memory.listing import Cursor, Page, check_page_size
from recollect.core.memory.memory import Memory, Scope, clean_scope
from recollect.usecases.memory.projects import resolve_scope

if TYPE_CHECKING:
    from recollect.usecases.context import Context

_MAX_SHOWN_WHEN_AMBIGUOUS = 5


async def resolve(context: Context, owner: str, reference: str, *, forgotten: bool = False) -> UUID:
    """Return the id that a reference means; forgotten memories count only on request."""
    part = IdPart.parse(reference)
    alike = await context.store.ids_with_endings(
        owner, {part.digits[-SHORTEST:]}, forgotten=forgotten
    )
    ids = [id for id in alike if id.hex.endswith(part.digits)][:_MAX_SHOWN_WHEN_AMBIGUOUS]
    if not ids:
        ids = await context.store.ids_with_prefix(
            owner, part, _MAX_SHOWN_WHEN_AMBIGUOUS, forgotten=forgotten
        )
    id = part.only(ids, "memories")
    if id is None:
        raise not_found(reference)
    return id


async def get(context: Context, owner: str, reference: str, *, forgotten: bool = False) -> Memory:
    """Return one memory; a forgotten one only on request."""
    id = await resolve(context, owner, reference, forgotten=forgotten)
    memory = await context.store.get(owner, id)
    if memory is None or (memory.deleted_at is not None and not forgotten):
        raise not_found(reference)
    return memory


async def mark_superseded(context: Context, owner: str, memories: Sequence[Memory]) -> list[Memory]:
    """Set `superseded_by` on each memory that a recall would now replace by another one."""
    found = await context.store.fetch(owner, [memory.id for memory in memories])
    if not found.superseded:
        return [*memories]
    resolution = await context.store.follow(owner, found.superseded, ())
    now = context.clock.now()
    marked = []
    for memory in memories:
        successor = resolution.memories.get(last(memory.id, resolution.successors))
        if successor is None or successor.id == memory.id or not successor.is_valid_at(now):
            marked.append(memory)
        else:
            marked.append(replace(memory, superseded_by=successor.id))
    return marked


async def short_ids(context: Context, owner: str, ids: Collection[UUID]) -> dict[UUID, str]:
    """Return endings of one length, each of which is unique in the whole store."""
    endings = {shortened.ending(id) for id in ids}
    alike = await context.store.ids_with_endings(owner, endings, forgotten=False)
    return shortened.short_ids(ids, alike)


async def page(context: Context, owner: str, scope: Scope, cursor: str | None, limit: int) -> Page:
    """Return one page of a listing. Fetches one extra memory to learn whether there is a next
    page. The cursor is that of the page before, or the id of the memory with which it ended.
    """
    check_page_size(limit)
    scope = await resolve_scope(context.store, owner, clean_scope(scope))
    after = await _position(context, owner, cursor) if cursor else None
    found = await context.store.page(owner, scope, after, limit + 1)
    shown = await mark_superseded(context, owner, found[:limit])
    following = Cursor.after(shown[-1]).encode() if len(found) > limit else None
    return Page(tuple(shown), following, scope)


async def _position(context: Context, owner: str, cursor: str) -> Cursor:
    if not shortened.is_id(cursor):
        return Cursor.decode(cursor)
    return Cursor.after(await get(context, owner, cursor, forgotten=True))


def not_found(reference: str) -> NotFound:
    return NotFound(
        f"there is no memory {reference.strip()[:60]}",
        remedy="Run `recollect list` to see what is stored; forgotten memories are not shown.",
    )
