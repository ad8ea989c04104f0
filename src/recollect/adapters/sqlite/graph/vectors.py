"""The vectors of concept names: which must still be compared, and the nearest ones of each.

They are in the active space. When another space becomes active, every name is compared again in it;
earlier merges are kept. The vectors of an owner are cached in memory while names are compared, and
only new ones are read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.graph.rules import INCREMENT_VERSION
from recollect.adapters.sqlite.graph.write import RARE
from recollect.adapters.sqlite.thread import transaction
from recollect.adapters.sqlite.vectors.queue import to_bytes
from recollect.adapters.sqlite.vectors.spaces import read_active
from recollect.core.graph.resolution import Neighbour, PendingConcept, is_compared

if TYPE_CHECKING:
    from recollect.adapters.sqlite.graph.names import NameMatrix
    from recollect.core.recall.space import StoredSpace

_SKIPPED: Final = -1
"""Marks a concept that is not compared at all."""

# There are very many phrases that only one memory uses, and they link nothing. Such a phrase waits
# until a second memory uses it (`RARE`).
_WAITING: Final = """
SELECT c.id, c.owner, c.name, c.kind, c.kind = 'phrase' AND (
    SELECT count(*) FROM (
        SELECT 1 FROM memory_concepts m
        WHERE m.owner = c.owner AND m.concept_id = c.id LIMIT 2)) < 2 AS is_rare
FROM concepts c WHERE c.compared_in IS NULL
ORDER BY c.created_at, c.id LIMIT ?
"""
_OTHER_SPACE: Final = """
UPDATE concepts SET compared_in = NULL WHERE (owner, id) IN (
    SELECT owner, id FROM concepts WHERE compared_in > 0 AND compared_in <> ? LIMIT ?)
"""
_ANY_WAITING: Final = """
SELECT 1 FROM concepts WHERE compared_in IS NULL OR (compared_in > 0 AND compared_in <> ?) LIMIT 1
"""
_MARK: Final = "UPDATE concepts SET compared_in = ? WHERE owner = ? AND id = ?"
_OLD_VECTORS: Final = "DELETE FROM concept_vectors WHERE space_id <> ?"
_KEEP: Final = """
INSERT OR REPLACE INTO concept_vectors (owner, concept_id, space_id, vector)
SELECT owner, id, ?, ? FROM concepts WHERE owner = ? AND id = ?
"""
_CONCEPT: Final = "SELECT name, kind, compared_in FROM concepts WHERE owner = ? AND id = ?"
_NEAR: Final = """
INSERT INTO near_concepts (owner, source, target, similarity)
SELECT c.owner, min(c.id, d.id), max(c.id, d.id), :similarity
FROM concepts c JOIN concepts d ON d.owner = c.owner AND d.id = :other
WHERE c.owner = :owner AND c.id = :one
ON CONFLICT (owner, source, target) DO UPDATE SET similarity = max(similarity, excluded.similarity)
"""
_SPARE: Final = 4
"""How many more neighbors are fetched than requested: some must not be compared with."""


class ConceptComparison(SqliteComponent):
    """Implements the `ConceptNames` port, but for `merge`."""

    _matrix: NameMatrix | None = None

    async def comparing_space(self) -> StoredSpace | None:
        return await self._reader.run_until_cancelled(read_active)

    async def to_compare(self, space: StoredSpace, limit: int) -> list[PendingConcept]:
        any_waiting = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_ANY_WAITING, (space.id,)).fetchone()
        )
        if any_waiting is None:
            return []
        return await self._writer.run(lambda writer: _to_compare(writer, space, limit))

    async def keep_vectors(
        self, space: StoredSpace, named: Sequence[tuple[PendingConcept, Sequence[float]]]
    ) -> None:
        rows = [
            (space.id, to_bytes(space.space, vector), concept.owner, str(concept.id))
            for concept, vector in named
        ]

        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                writer.execute(_OLD_VECTORS, (space.id,))
                writer.executemany(_KEEP, rows)

        await self._writer.run(work)

    async def nearest(
        self,
        space: StoredSpace,
        named: Sequence[tuple[PendingConcept, Sequence[float]]],
        *,
        least: float,
        limit: int,
    ) -> list[list[Neighbour]]:
        def work(reader: sqlite3.Connection) -> list[list[Neighbour]]:
            places = {concept.id: place for place, (concept, _) in enumerate(named)}
            found = []
            for place, (concept, vector) in enumerate(named):
                matrix = self._matrix_of(reader, concept.owner, space)
                near = []
                for id, similarity in matrix.nearest(vector, least, limit + _SPARE + len(named)):
                    row = reader.execute(_CONCEPT, (concept.owner, id)).fetchone()
                    # Only older ones: each pair is compared once, and the newer concept joins the
                    # older.
                    if row is None or id == str(concept.id):
                        continue
                    other = UUID(id)
                    if row["compared_in"] == space.id or places.get(other, place) < place:
                        near.append(Neighbour(other, row["name"], row["kind"], similarity))
                found.append(near[:limit])
            return found

        return await self._background.run_until_cancelled(work)

    async def save_neighbours(
        self, space: StoredSpace, near: Sequence[tuple[PendingConcept, Sequence[Neighbour]]]
    ) -> None:
        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                for concept, found in near:
                    for other in found:
                        values = {
                            "owner": concept.owner,
                            "one": str(concept.id),
                            "other": str(other.id),
                            "similarity": other.similarity,
                        }
                        writer.execute(_NEAR, values)
                    writer.execute(_MARK, (space.id, concept.owner, str(concept.id)))
                for owner in sorted({concept.owner for concept, found in near if found}):
                    writer.execute(INCREMENT_VERSION, {"owner": owner})

        await self._writer.run(work)

    def _matrix_of(self, reader: sqlite3.Connection, owner: str, space: StoredSpace) -> NameMatrix:
        from recollect.adapters.sqlite.graph.names import NameMatrix

        if self._matrix is None or not self._matrix.is_of(reader, owner, space):
            self._matrix = NameMatrix(reader, owner, space)
        self._matrix.refresh()
        return self._matrix


def _to_compare(writer: sqlite3.Connection, space: StoredSpace, limit: int) -> list[PendingConcept]:
    with transaction(writer):
        while True:
            found = writer.execute(_WAITING, (limit,)).fetchall()
            pending = []
            for row in found:
                if row["is_rare"] or not is_compared(row["kind"]):
                    mark = RARE if row["is_rare"] else _SKIPPED
                    writer.execute(_MARK, (mark, row["owner"], row["id"]))
                else:
                    id = UUID(row["id"])
                    pending.append(PendingConcept(id, row["owner"], row["name"], row["kind"]))
            if pending:
                return pending
            if not found and not writer.execute(_OTHER_SPACE, (space.id, limit)).rowcount:
                return []
