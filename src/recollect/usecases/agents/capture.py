"""Store the statements captured from a conversation, each only once.

Each statement is compared with what recall finds for it. If it is known, nothing happens; if it
says all that an earlier captured one says and more, it replaces that one; anything else becomes a
new memory, within the daily limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from recollect.core.agents.capture import Statement, adds_nothing, is_personal, refines
from recollect.core.errors import Conflict, Forbidden
from recollect.core.memory.memory import EPISODE, Changes, Draft, Memory, Scope
from recollect.core.memory.standing import STANDING, STANDING_CATEGORIES, is_person, is_standing
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

    def __add__(self, other: Captured) -> Captured:
        return Captured(
            *(getattr(self, one.name) + getattr(other, one.name) for one in fields(self))
        )

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
    by_user: bool = True,
) -> Captured:
    """Store what is new: of the user and other people without a project, so that it is found in
    all of them. Credentials make a memory sensitive, as everywhere. `by_user`: the words are the
    user's, and not a model's; only then may they replace what stands for the user.
    """
    stored: list[UUID] = []
    refined: list[UUID] = []
    known: list[UUID] = []
    removed = over = 0
    for statement in statements:
        memories = await _find_neighbours(recollect, statement, project)
        stands = by_user and statement.category in STANDING_CATEGORIES
        # Where an agent was faster, its text does not stand for the user.
        same = next(
            (
                memory
                for memory in memories
                if adds_nothing(statement.content, memory.content)
                and not (stands and _is_by_agent(memory))
            ),
            None,
        )
        # Only captured memories are rewritten, and only by what was said later, or by the user's
        # words for the same: what a person wrote stays as it is.
        older = next(
            (
                memory
                for memory in memories
                if (stands and _is_by_agent(memory) and _says_the_same(statement, memory))
                or (
                    TAG in memory.tags
                    and (by_user or not is_standing(memory))
                    and refines(statement.content, memory.content)
                    and (
                        memory.id in stored or (statement.said_at or _LONG_AGO) > memory.updated_at
                    )
                )
            ),
            None,
        )
        if same is not None:
            known.append(same.id)
        elif len(stored) + len(refined) >= allowance:
            over += 1
        elif older is not None:
            changes: Changes = {"content": statement.content}
            if stands:
                tags = tuple(dict.fromkeys((*older.tags, STANDING)))
                changes = {**changes, "category": statement.category, "tags": tags}
            await recollect.update(str(older.id), changes, based_on=older.version)
            refined.append(older.id)
        else:
            draft = Draft(
                statement.content,
                category=statement.category,
                importance=statement.importance,
                tags=(TAG,),
                project=None if is_personal(statement) else project,
                session=session,
                said_at=statement.said_at or _LONG_AGO,
            )
            try:
                memory = await _remember(recollect, draft, project)
            except Conflict:
                removed += 1
            else:
                (known if memory.was_known else stored).append(memory.id)
    return Captured(tuple(stored), tuple(refined), tuple(known), removed, over)


def _is_by_agent(memory: Memory) -> bool:
    return not is_standing(memory) and not is_person(memory.changed_by)


def _says_the_same(statement: Statement, memory: Memory) -> bool:
    return adds_nothing(statement.content, memory.content) and adds_nothing(
        memory.content, statement.content
    )


async def _remember(recollect: Service, draft: Draft, project: str | None) -> Memory:
    try:
        return await recollect.remember(draft)
    except Forbidden:
        if draft.project == project:
            raise
        # A key that is limited to this project cannot store what belongs to the user.
        return await recollect.remember(replace(draft, project=project))


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
