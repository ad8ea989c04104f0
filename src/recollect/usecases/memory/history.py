"""The versions of a memory, and going back to one of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from recollect.core.errors import NotFound
from recollect.core.memory.memory import Memory
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.memory.rewrite import rewrite


async def history(context: Context, owner: str, reference: str) -> list[Memory]:
    """The versions of a memory, forgotten or not, newest first; the first is the current one."""
    current = await find.get(context, owner, reference, forgotten=True)
    (marked,) = await find.mark_superseded(context, owner, [current])
    return [marked, *reversed(await context.store.versions(owner, current.id))]


async def restore(context: Context, owner: str, reference: str, version: int) -> Memory:
    """Give a memory the fields of one of its versions, as a new version. What is sensitive, then or
    now, stays so; what was forgotten no longer is.
    """
    versions = await history(context, owner, reference)
    wanted = next((former for former in versions if former.version == version), None)
    if wanted is None:
        raise NotFound(
            f"memory {versions[0].id} has no version {version}",
            remedy="Run `recollect history` to see its versions.",
        )

    def apply(current: Memory, _: datetime) -> Memory:
        is_sensitive = current.is_sensitive or wanted.is_sensitive
        return replace(wanted, is_sensitive=is_sensitive, deleted_at=None, superseded_by=None)

    return await rewrite(context, owner, wanted.id, apply, forgotten=True)
