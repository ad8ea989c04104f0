"""Browse memories: a filtered table, the details of one, and growth over time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal

from recollect.core.errors import RecollectError
from recollect.core.memory.listing import Listing, Table, check_rows, week_of
from recollect.core.memory.memory import Memory, clean_scope
from recollect.usecases.memory import find
from recollect.usecases.memory.projects import resolve_scope

if TYPE_CHECKING:
    from recollect.usecases.context import Context

VectorState = Literal["embedded", "waiting", "parked", "never", "off"]
MAX_WEEKS: Final = 104


@dataclass(frozen=True, slots=True)
class Details:
    """A memory, forgotten or not, with its former versions (newest first), the concepts it mentions
    and the state of its vector: a sensitive or forgotten memory never gets one. `parked` is the
    error if embedding failed too often.
    """

    memory: Memory
    history: tuple[Memory, ...]
    concepts: tuple[str, ...]
    vector: VectorState
    parked: str | None = None


async def table(context: Context, owner: str, listing: Listing) -> Table:
    check_rows(listing)
    scope = await resolve_scope(context.store, owner, clean_scope(listing.scope))
    rows = await context.store.table(owner, replace(listing, scope=scope))
    if rows.total == 0 and len(listing.words) == 1:
        rows = await _by_id(context, owner, replace(listing, scope=scope))
    marked = await find.mark_superseded(context, owner, rows.memories)
    return replace(rows, memories=tuple(marked))


async def _by_id(context: Context, owner: str, listing: Listing) -> Table:
    """A word that is in no text may be an id."""
    try:
        memory = await find.get(context, owner, listing.words[0], forgotten=True)
    except RecollectError:
        return Table((), 0)
    return Table((memory,), 1) if replace(listing, words=()).covers(memory) else Table((), 0)


async def details(context: Context, owner: str, reference: str) -> Details:
    memory = await find.get(context, owner, reference, forgotten=True)
    (memory,) = await find.mark_superseded(context, owner, [memory])
    former = await context.store.versions(owner, memory.id)
    concepts = () if context.concepts_of is None else await context.concepts_of(owner, memory.id)
    vector, parked = await _vector_state(context, memory)
    return Details(memory, tuple(reversed(former)), tuple(concepts), vector, parked)


async def _vector_state(context: Context, memory: Memory) -> tuple[VectorState, str | None]:
    if context.has_vector is None:
        return "off", None
    if memory.is_sensitive or memory.deleted_at is not None:
        return "never", None
    if await context.has_vector(memory.owner, memory.id):
        return "embedded", None
    error = None if context.parked is None else await context.parked(memory.owner, memory.id)
    return ("waiting", None) if error is None else ("parked", error)


async def growth(context: Context, owner: str, weeks: int) -> dict[date, int]:
    """Count the memories stored in each of the last `weeks`, oldest first, by their Monday."""
    last = week_of(context.clock.now())
    first = last - timedelta(weeks=weeks - 1)
    counted = await context.store.growth(owner, first)
    mondays = [first + timedelta(weeks=number) for number in range(weeks)]
    return {monday: counted.get(monday, 0) for monday in mondays}
