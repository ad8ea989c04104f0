"""The spaces of a store: which models there are vectors of, opened and switched."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Final, LiteralString

from recollect.adapters.sql.session import Row, Session, SqlComponent, T, Work
from recollect.core.errors import Conflict
from recollect.core.recall.space import Space, StoredSpace

SPACE_COLUMNS: Final = (
    "id",
    "embedder",
    "model",
    "revision",
    "dimension",
    "distance",
    "query_instruction",
    "languages",
    "state",
    "is_former",
)
_COLUMNS: Final = ", ".join(SPACE_COLUMNS)
_SPACES: Final[LiteralString] = f"select {_COLUMNS} from spaces order by id"  # noqa: S608  # composed of constants
ACTIVE_SPACE: Final[LiteralString] = f"select {_COLUMNS} from spaces where state = 'active'"  # noqa: S608  # as above
_LOCK: Final[LiteralString] = f"select {_COLUMNS} from spaces where id = :id $for_update"  # noqa: S608  # as above
_FIND: Final[LiteralString] = f"""
select {_COLUMNS} from spaces
where model = :model and revision = :revision and dimension = :dimension and distance = :distance
"""  # noqa: S608  # composed of constants
_OPEN: Final[LiteralString] = f"""
insert into spaces (embedder, model, revision, dimension, distance, query_instruction, languages,
    state)
values (:embedder, :model, :revision, :dimension, :distance, :query_instruction, $languages,
    :state)
returning {_COLUMNS}
"""  # noqa: S608  # composed of constants
_REOPEN: Final[LiteralString] = f"""
update spaces set embedder = :embedder, query_instruction = :query_instruction,
    languages = $languages,
    state = case when exists (select 1 from spaces where state = 'active') then state
        else 'active' end
where id = :id
returning {_COLUMNS}
"""  # noqa: S608  # composed of constants
_GIVE_UP_FORMER: Final = "update spaces set is_former = false where is_former"
_RETIRE_ACTIVE: Final = """
update spaces set state = 'retired', is_former = true where state = 'active'
"""
_ACTIVATE: Final = "update spaces set state = 'active' where id = :id"
_RETIRE: Final = """
update spaces set state = 'retired' where id = :id and state = 'filling' and is_former
"""
_GIVE_UP: Final = "update spaces set state = 'retired', is_former = false where id = :id"


class SqlSpaces(SqlComponent):
    """Implements the changes of the `Spaces` port, except for vectors and indexes."""

    _wake: ClassVar[LiteralString]
    """Starts filling a retired space again. While retired it was not kept up to date, so every
    memory must be checked.
    """

    @abstractmethod
    async def _change_spaces(self, work: Work[T]) -> T:
        """Change spaces in a transaction, one process at a time, and notify workers."""

    async def spaces(self) -> list[StoredSpace]:
        rows = await self._read(None, lambda session: session.fetch(_SPACES, {}))
        return [to_space(row) for row in rows]

    async def open_space(self, embedder: str, space: Space) -> StoredSpace:
        values = {
            "embedder": embedder,
            "model": space.model,
            "revision": space.revision,
            "dimension": space.dimension,
            "distance": space.distance,
            "query_instruction": space.query_instruction,
            "languages": " ".join(sorted(space.languages)),
        }

        # Every start opens the active space. A cluster that lost a node cannot write this table.
        for row in await self._read(None, lambda session: session.fetch(_FIND, values)):
            known = to_space(row)
            same = StoredSpace(known.id, embedder, space, "active", known.is_former)
            if known == same and known.space.languages == space.languages:
                return known

        async def work(session: Session) -> StoredSpace:
            found = await session.fetch(_FIND, values)
            if found:
                await session.execute(self._wake, found[0])
                return to_space((await session.fetch(_REOPEN, found[0] | values))[0])
            state = "filling" if await session.fetch(ACTIVE_SPACE, {}) else "active"
            return to_space((await session.fetch(_OPEN, {**values, "state": state}))[0])

        return await self._change_spaces(work)

    async def activate(self, space: StoredSpace) -> None:
        async def work(session: Session) -> None:
            state = (await _lock_existing(session, space)).state
            if state == "active":  # activated by another process, which has set the former space
                return
            if state == "retired":  # some of its vectors may already be removed
                raise Conflict(
                    f"the space {space.space.name} was dropped in the meantime",
                    remedy="Run `recollect reembed` again: it opens the space again and fills it.",
                )
            await session.execute(_GIVE_UP_FORMER, {})
            await session.execute(_RETIRE_ACTIVE, {})
            await session.execute(_ACTIVATE, {"id": space.id})

        await self._change_spaces(work)

    async def retire(self, space: StoredSpace) -> None:
        await self._change_spaces(lambda session: session.execute(_RETIRE, {"id": space.id}))

    async def give_up(self, space: StoredSpace) -> None:
        """Abandon a space: from now on it cannot be filled, indexed, activated or rolled back to.
        Raises Conflict if it is active, or if it was given up before and opened again since.
        """

        async def work(session: Session) -> None:
            current = await _lock_existing(session, space)
            if space.is_given_up and not current.is_given_up:
                raise Conflict(
                    f"the space {space.space.name} is in use again",
                    remedy="See `recollect reembed --status`; `recollect reembed --cancel` cancels"
                    " the re-embedding.",
                )
            if current.state == "active":
                raise Conflict(
                    f"{space.space.name} is the space that recall uses",
                    remedy="Activate another model first (`recollect reembed --model …`).",
                )
            await session.execute(_GIVE_UP, {"id": space.id})

        await self._change_spaces(work)


async def lock_space(session: Session, space: StoredSpace) -> StoredSpace | None:
    """Lock a space and return its current state."""
    rows = await session.fetch(_LOCK, {"id": space.id})
    return to_space(rows[0]) if rows else None


async def _lock_existing(session: Session, space: StoredSpace) -> StoredSpace:
    current = await lock_space(session, space)
    if current is None:
        raise Conflict(
            f"the space {space.space.name} is no longer there",
            remedy="See `recollect status` for the spaces there are.",
        )
    return current


def to_space(row: Row) -> StoredSpace:
    space = Space(
        model=row["model"],
        revision=row["revision"],
        dimension=row["dimension"],
        distance=row["distance"],
        query_instruction=row["query_instruction"],
        languages=frozenset(row["languages"]),
    )
    return StoredSpace(row["id"], row["embedder"], space, row["state"], row["is_former"])
