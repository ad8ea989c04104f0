"""Replace a memory with its changed version, however many others write concurrently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from recollect.core.errors import Conflict
from recollect.core.memory.memory import Memory
from recollect.usecases.context import Context
from recollect.usecases.memory import find

# Two writers that meet by chance both succeed; ten in a row on one memory is a fault.
_ATTEMPTS = 10


async def rewrite(
    context: Context, owner: str, id: UUID, change: Callable[[Memory, datetime], Memory]
) -> Memory:
    """Apply `change` to the current state as the next version. If another writer was faster, apply
    it again to what that one wrote, so that neither loses its fields.
    """
    for _ in range(_ATTEMPTS):
        current = await find.get(context, owner, str(id))
        now = context.clock.now()
        changed = replace(
            change(current, now),
            version=current.version + 1,
            updated_at=now,
            changed_by=context.actor,
        )
        if await context.store.replace(changed, based_on=current.version):
            return changed
    raise Conflict(f"memory {id} keeps being changed by others", remedy="Try again in a moment.")
