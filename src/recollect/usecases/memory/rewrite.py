"""Replace a memory with its changed version, however many others write concurrently."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from recollect.core.errors import Conflict
from recollect.core.memory.memory import Memory
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.tasks import analyze_text

# Two writers that meet by chance both succeed; ten in a row on one memory is a fault.
_ATTEMPTS = 10

Done = TypeVar("Done")


async def rewrite(
    context: Context,
    owner: str,
    id: UUID,
    change: Callable[[Memory, datetime], Memory],
    *,
    chars: int = 0,
    forgotten: bool = False,
) -> Memory:
    """Apply `change`, which brings this many `chars`, to the current state as the next version. If
    another writer was faster, apply it again to what that one wrote, so that neither loses its
    fields. A `forgotten` memory is changed only on request.
    """

    async def attempt(now: datetime) -> Memory | None:
        current = await find.get(context, owner, str(id), forgotten=forgotten)
        new = await analyze_text(len(current.content) + chars, change, current, now)
        added = {link.target for link in {*new.links} - {*current.links}}
        await context.check_links(owner, added, ())
        changed = next_version(current, new, now, context.actor)
        written = await context.store.replace(changed, based_on=current.version)
        return changed if written else None

    return await retry_on_conflict(context, id, attempt)


async def retry_on_conflict(
    context: Context, id: UUID, attempt: Callable[[datetime], Awaitable[Done | None]]
) -> Done:
    """What the first attempt did that no other writer of the memory came before; such attempts
    return None.
    """
    for _ in range(_ATTEMPTS):
        if (done := await attempt(context.clock.now())) is not None:
            return done
    raise Conflict(f"memory {id} keeps being changed by others", remedy="Try again in a moment.")


def next_version(current: Memory, changed: Memory, now: datetime, actor: str | None) -> Memory:
    return replace(changed, version=current.version + 1, updated_at=now, changed_by=actor)
