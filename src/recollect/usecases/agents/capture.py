"""Store the statements captured from a conversation, each only once.

Each statement is compared with what recall finds for it. If it is known, nothing happens; if it
says all that an earlier captured one says and more, it replaces that one; anything else becomes a
new memory, within the daily limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from recollect.core.agents.capture import Statement, adds_nothing, refines
from recollect.core.errors import Conflict
from recollect.core.memory.memory import EPISODE, Changes, Draft, Memory, Scope
from recollect.core.recall.request import RecallRequest
from recollect.ports.service import Service

TAG: Final = "captured"
_MAX_NEIGHBOURS: Final = 10
# For a statement without a time: whatever was removed, at any time, is not captured again.
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Captured:
    """The outcome for the statements. `removed` counts those not stored because a person erased,
    forgot or replaced them since they were said, `over` those beyond the daily limit.
    """

    stored: tuple[UUID, ...] = ()
    refined: tuple[UUID, ...] = ()
    known: tuple[UUID, ...] = ()
    removed: int = 0
    over: int = 0

    @property
    def ids(self) -> tuple[UUID, ...]:
        return (*self.stored, *self.refined)


async def capture(
    recollect: Service,
    statements: Sequence[Statement],
    *,
    project: str | None,
    session: str | None,
    allowance: int,
) -> Captured:
    """Store what is new. Credentials make a memory sensitive, as everywhere."""
    stored: list[UUID] = []
    refined: list[UUID] = []
    known: list[UUID] = []
    removed = over = 0
    for statement in statements:
        memories = await _find_neighbours(recollect, statement, project)
        same = next(
            (memory for memory in memories if adds_nothing(statement.content, memory.content)), None
        )
        # Only captured memories are rewritten, and only by later statements: what a person wrote
        # is never changed.
        older = next(
            (
                memory
                for memory in memories
                if TAG in memory.tags
                and refines(statement.content, memory.content)
                and (memory.id in stored or (statement.said_at or _LONG_AGO) > memory.updated_at)
            ),
            None,
        )
        if same is not None:
            known.append(same.id)
        elif len(stored) + len(refined) >= allowance:
            over += 1
        elif older is not None:
            changes: Changes = {"content": statement.content}
            await recollect.update(str(older.id), changes, based_on=older.version)
            refined.append(older.id)
        else:
            draft = Draft(
                statement.content,
                category=statement.category,
                importance=statement.importance,
                tags=(TAG,),
                project=project,
                session=session,
                said_at=statement.said_at or _LONG_AGO,
            )
            try:
                memory = await recollect.remember(draft)
            except Conflict:
                removed += 1
            else:
                (known if memory.was_known else stored).append(memory.id)
    return Captured(tuple(stored), tuple(refined), tuple(known), removed, over)


async def _find_neighbours(
    recollect: Service, statement: Statement, project: str | None
) -> list[Memory]:
    """Return stored memories about the same thing, best first. If recall fails, so does this:
    storing without comparing could store a statement again and again.
    """
    scope = Scope(project=project, with_global=True)
    request = RecallRequest(statement.content, limit=_MAX_NEIGHBOURS, scope=scope)
    found = await recollect.recall(request)
    return [hit.memory for hit in found.hits if hit.memory.category != EPISODE]
