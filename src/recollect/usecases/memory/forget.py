"""Forget a memory, or erase it permanently."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from recollect.core.memory.memory import Memory
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.memory.rewrite import rewrite


async def forget(context: Context, owner: str, reference: str, *, forever: bool = False) -> UUID:
    """Hide a memory from recall and listings; `forever` erases it, forgotten or not."""
    id = await find.resolve(context, owner, reference, forgotten=forever)
    if not forever:
        await rewrite(context, owner, id, _forgotten)
    elif not await context.store.erase(owner, id):
        raise find.not_found(reference)
    return id


def _forgotten(memory: Memory, now: datetime) -> Memory:
    return replace(memory, deleted_at=now)
