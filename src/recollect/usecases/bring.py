"""Keep memories that come from elsewhere as they are: with their ids, dates and versions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.core.errors import InvalidInput
from recollect.core.exchange import Brought, brought
from recollect.core.ids import check_uuid7
from recollect.core.memory import Limits, Memory, checked, dated
from recollect.usecases.parts import Parts


async def bring(parts: Parts, owner: str, memories: Sequence[Memory]) -> list[Brought]:
    """Store those that are not here yet. What is here is never changed: a file may be older. Going
    through the store, they wait to be synced and embedded as any other memory does. The answers are
    in the order of the memories.
    """
    now = parts.clock.now()
    tidy = [_checked(memory, parts.limits, now) for memory in memories]
    new = await parts.store.add_all([one for one in tidy if isinstance(one, Memory)])
    outcomes: list[Brought] = []
    for one in tidy:
        if isinstance(one, Brought):
            outcomes.append(one)
        elif one.id in new:
            new.remove(one.id)  # a second one with the same id is compared with the first
            outcomes.append(Brought(one.id, "new"))
        else:
            outcomes.append(await compared(parts, owner, one))
    return outcomes


def _checked(memory: Memory, limits: Limits, now: datetime) -> Memory | Brought:
    try:
        check_uuid7(memory.id)
        return dated(checked(memory, limits), now)
    except InvalidInput as error:
        return Brought(memory.id, "refused", str(error), error.remedy)


async def compared(parts: Parts, owner: str, memory: Memory) -> Brought:
    """What bringing a memory would do, or did, when its id is taken."""
    current = await parts.store.get(owner, memory.id)
    if current is None:
        reason = "the id belongs to another memory"
        return Brought(memory.id, "refused", reason, "Store the text again under a new id.")
    return brought(memory, current)
