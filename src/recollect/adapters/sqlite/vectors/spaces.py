"""Embedding spaces in the local store. Writers take turns, so what a transaction reads it may
decide on.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.read_only import read_only_address
from recollect.adapters.sqlite.thread import transaction
from recollect.core.errors import Conflict
from recollect.core.recall.space import Gap, Space, StoredSpace

ROW_BYTES: Final = 110
"""What a vector of 16-bit numbers takes beside these: its row, its share of the page, and its
entries in the indexes."""

DROP_BATCH: Final = 5_000
"""Vectors that one transaction removes when a space is dropped: others want to write as well."""

_COLUMNS: Final = (
    "id, embedder, model, revision, dimension, distance, query_instruction, languages, state,"
    " is_former"
)
_SPACES: Final = f"SELECT {_COLUMNS} FROM spaces ORDER BY id"  # noqa: S608  # composed of constants
_ACTIVE: Final = f"SELECT {_COLUMNS} FROM spaces WHERE state = 'active'"  # noqa: S608  # as above
_SPACE: Final = f"SELECT {_COLUMNS} FROM spaces WHERE id = ?"  # noqa: S608  # composed of constants
_IS_ANY_ACTIVE: Final = "EXISTS (SELECT 1 FROM spaces WHERE state = 'active')"
_FIND: Final = """
SELECT id FROM spaces WHERE model = :model AND revision = :revision AND dimension = :dimension
    AND distance = :distance
"""
_OPEN: Final = f"""
INSERT INTO spaces (embedder, model, revision, dimension, distance, query_instruction, languages,
    state)
VALUES (:embedder, :model, :revision, :dimension, :distance, :query_instruction, :languages,
    CASE WHEN {_IS_ANY_ACTIVE} THEN 'filling' ELSE 'active' END)
"""  # noqa: S608  # composed of constants
# While it was retired it was not kept up to date, so every memory must be looked at again.
_WAKE: Final = (
    "UPDATE spaces SET state = 'filling', swept_to = 0 WHERE id = ? AND state = 'retired'"
)
_REOPEN: Final = f"""
UPDATE spaces SET embedder = :embedder, query_instruction = :query_instruction,
    languages = :languages,
    state = CASE WHEN {_IS_ANY_ACTIVE} THEN state ELSE 'active' END
WHERE id = :id
"""  # noqa: S608  # composed of constants
_GIVE_UP_FORMER: Final = "UPDATE spaces SET is_former = 0 WHERE is_former"
_RETIRE_ACTIVE: Final = "UPDATE spaces SET state = 'retired', is_former = 1 WHERE state = 'active'"
_ACTIVATE: Final = "UPDATE spaces SET state = 'active' WHERE id = ?"
_RETIRE: Final = (
    "UPDATE spaces SET state = 'retired' WHERE id = ? AND state = 'filling' AND is_former"
)
_GIVE_UP: Final = "UPDATE spaces SET state = 'retired', is_former = 0 WHERE id = ?"
_DROP_SOME: Final = """
DELETE FROM embeddings WHERE id IN (SELECT id FROM embeddings WHERE space_id = ? LIMIT ?)
"""
_BYTES: Final = """
SELECT coalesce(sum(
    (2 * s.dimension + ?) * (SELECT count(*) FROM embeddings e WHERE e.space_id = s.id)), 0)
FROM spaces s
"""
_GAP: Final = """
SELECT count(*), coalesce(sum(e.last_error IS NOT NULL), 0)
FROM spaces s
JOIN embeddings known
    ON known.space_id = s.id AND known.passage = 0 AND known.vector IS NOT NULL
LEFT JOIN embeddings e
    ON e.owner = known.owner AND e.memory = known.memory AND e.space_id = :space
        AND e.passage = 0
WHERE s.state = 'active' AND e.vector IS NULL
"""


class SpaceStore(SqliteComponent):
    """Implements the `Spaces` port."""

    async def spaces(self) -> list[StoredSpace]:
        return await self._reader.run_until_cancelled(
            lambda reader: [_to_space(row) for row in reader.execute(_SPACES)]
        )

    async def open_space(self, embedder: str, space: Space) -> StoredSpace:
        values: dict[str, object] = {
            "embedder": embedder,
            "model": space.model,
            "revision": space.revision,
            "dimension": space.dimension,
            "distance": space.distance,
            "query_instruction": space.query_instruction,
            "languages": " ".join(sorted(space.languages)),
        }

        def work(writer: sqlite3.Connection) -> StoredSpace:
            with transaction(writer):
                found = writer.execute(_FIND, values).fetchone()
                if found is None:
                    id = writer.execute(_OPEN, values).lastrowid
                else:
                    id = found["id"]
                    writer.execute(_WAKE, (id,))
                    writer.execute(_REOPEN, {**values, "id": id})
                return _to_space(writer.execute(_SPACE, (id,)).fetchone())

        return await self._writer.run(work)

    async def build_indexes(self, space: StoredSpace) -> None:
        """There are none: every vector of a scope is compared."""

    async def pending_indexes(self, space: StoredSpace) -> int:  # noqa: ARG002  # always none
        return 0

    async def bytes(self) -> int:
        """About what the vectors of all spaces take in the file."""
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_BYTES, (ROW_BYTES,)).fetchone()
        )
        return int(row[0])

    async def gap(self, space: StoredSpace) -> Gap:
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_GAP, {"space": space.id}).fetchone()
        )
        return Gap(*row)

    async def activate(self, space: StoredSpace) -> None:
        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                state = _require(writer, space).state
                if state == "active":  # by another process: the one before is already the former
                    return
                if state == "retired":  # its vectors may be on their way out already
                    raise Conflict(
                        f"the space {space.space.name} was dropped in the meantime",
                        remedy="Run `recollect reembed` again: it opens the space again and fills "
                        "it.",
                    )
                writer.execute(_GIVE_UP_FORMER)
                writer.execute(_RETIRE_ACTIVE)
                writer.execute(_ACTIVATE, (space.id,))

        await self._writer.run(work)

    async def retire(self, space: StoredSpace) -> None:
        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                writer.execute(_RETIRE, (space.id,))

        await self._writer.run(work)

    async def drop_space(self, space: StoredSpace) -> None:
        await self._writer.run(lambda writer: _give_up(writer, space))
        while await self._writer.run(lambda writer: _drop_some(writer, space)):
            pass


def read_active(connection: sqlite3.Connection) -> StoredSpace | None:
    """The space that recall asks."""
    row = connection.execute(_ACTIVE).fetchone()
    return None if row is None else _to_space(row)


def read_active_embedder(path: Path) -> str | None:
    """The name of the model of the space that recall asks, of a store that need not be open; None
    where there is no such space, or the file cannot be read: what opens it says why.
    """
    try:
        with closing(sqlite3.connect(read_only_address(os.fspath(path)), uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            active = read_active(connection)
    except sqlite3.Error:
        return None
    return None if active is None else active.embedder


def _give_up(writer: sqlite3.Connection, space: StoredSpace) -> None:
    """From now on the space cannot be filled, activated or rolled back to."""
    with transaction(writer):
        current = _require(writer, space)
        if space.is_given_up and not current.is_given_up:
            raise Conflict(
                f"the space {space.space.name} is in use again",
                remedy="See `recollect reembed --status`; `recollect reembed --cancel` cancels the "
                "re-embedding.",
            )
        if current.state == "active":
            raise Conflict(
                f"{space.space.name} is the space that recall asks",
                remedy="Activate another model first (`recollect reembed --model …`).",
            )
        writer.execute(_GIVE_UP, (space.id,))


def _drop_some(writer: sqlite3.Connection, space: StoredSpace) -> bool:
    """Remove a part of a space that was given up; False when nothing is left of it, or when it was
    opened again meanwhile.
    """
    with transaction(writer):
        current = _find(writer, space)
        if current is None or not current.is_given_up:
            return False
        if writer.execute(_DROP_SOME, (space.id, DROP_BATCH)).rowcount:
            return True
        writer.execute("DELETE FROM spaces WHERE id = ?", (space.id,))
        return False


def _find(connection: sqlite3.Connection, space: StoredSpace) -> StoredSpace | None:
    row = connection.execute(_SPACE, (space.id,)).fetchone()
    return None if row is None else _to_space(row)


def _require(connection: sqlite3.Connection, space: StoredSpace) -> StoredSpace:
    current = _find(connection, space)
    if current is None:
        raise Conflict(
            f"the space {space.space.name} is no longer there",
            remedy="See `recollect status` for the spaces there are.",
        )
    return current


def _to_space(row: sqlite3.Row) -> StoredSpace:
    space = Space(
        model=row["model"],
        revision=row["revision"],
        dimension=row["dimension"],
        distance=row["distance"],
        query_instruction=row["query_instruction"],
        languages=frozenset(row["languages"].split()),
    )
    return StoredSpace(row["id"], row["embedder"], space, row["state"], bool(row["is_former"]))
