"""Link a memory to another, or remove a link.

Both are ordinary changes of the source memory; repeating one is safe.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from recollect.core.errors import NotFound
from recollect.core.memory.ids import IdPrefix
from recollect.core.memory.links import Link, check_kinds
from recollect.core.memory.memory import Memory, check_memory
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.memory.rewrite import rewrite


async def link(context: Context, owner: str, reference: str, kind: str, target: str) -> Memory:
    """Both ends are named by references, and both must exist."""
    wanted = Link(kind, await find.resolve(context, owner, target))
    check_kinds([wanted])
    current = await find.get(context, owner, reference)
    if wanted in current.links:
        return current

    def apply(memory: Memory, _: datetime) -> Memory:
        return check_memory(replace(memory, links=(*memory.links, wanted)), context.limits)

    return await rewrite(context, owner, current.id, apply)


async def unlink(context: Context, owner: str, reference: str, kind: str, target: str) -> Memory:
    """The target is looked up among the links themselves: the memory may be gone."""
    prefix = IdPrefix.parse(target)
    current = await find.get(context, owner, reference)
    fitting = [candidate for candidate in current.links if candidate.kind == kind]
    end = prefix.only(
        [item.target for item in fitting if prefix.low <= item.target <= prefix.high], "links"
    )
    if end is None:
        raise NotFound(
            f"memory {current.id} has no link {kind[:40]} {target.strip()[:60]}",
            remedy="Run `recollect show` to see its links.",
        )

    def apply(memory: Memory, _: datetime) -> Memory:
        kept = tuple(candidate for candidate in memory.links if candidate != Link(kind, end))
        return replace(memory, links=kept)

    return await rewrite(context, owner, current.id, apply)
