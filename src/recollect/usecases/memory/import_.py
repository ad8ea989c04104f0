"""Keep memories that come from elsewhere as they are: with their ids, dates and versions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.core.errors import InvalidInput
from recollect.core.memory.ids import check_uuid7
from recollect.core.memory.jsonl import Brought, brought
from recollect.core.memory.memory import Limits, Memory, checked, dated
from recollect.usecases.context import Parts


async def bring(parts: Parts, owner: str, memories: Sequence[Memory]) -> list[Brought]:
    """Store those that are not here yet. What is here is never changed: a file may be older. Going
    through the store, they wait to be synced and embedded as any other memory does. The answers are
    in the order of the memories.
    """
    now = parts.clock.now()
    tidy = [_checked(memory, parts.limits, now) for memory in memories]
    memories = [one for one in tidy if isinstance(one, Memory)]
    new = await parts.store.add_all(memories)
    taken = [one.id for one in memories if one.id not in new]
    known = await parts.store.get_many(owner, taken, forgotten=True) if taken else {}
    outcomes: list[Brought] = []
    for one in tidy:
        if isinstance(one, Brought):
            outcomes.append(one)
        elif one.id in new:
            new.remove(one.id)
            known[one.id] = one  # a second one with the same id is compared with the first
            outcomes.append(Brought(one.id, "new"))
        else:
            outcomes.append(_compare(one, known.get(one.id)))
    return outcomes


def _checked(memory: Memory, limits: Limits, now: datetime) -> Memory | Brought:
    try:
        check_uuid7(memory.id)
        return dated(checked(memory, limits), now)
    except InvalidInput as error:
        return Brought(memory.id, "refused", str(error), error.remedy)


def _compare(memory: Memory, current: Memory | None) -> Brought:
    """What became of a memory whose id is taken."""
    if current is None:
        reason = "the id belongs to another memory"
        return Brought(memory.id, "refused", reason, "Store the text again under a new id.")
    return brought(memory, current)
