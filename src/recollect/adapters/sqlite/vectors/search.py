"""The dense leg of the local store: every vector of the scope is compared, so nothing is missed.

The vectors are cached in memory, and only changes are read from the file. `PRAGMA data_version`
shows whether any process wrote at all; then two counters show whether vectors changed. A search has
its own connection and thread, so it runs in parallel to the lexical leg.
"""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.rows import moment
from recollect.adapters.sqlite.vectors.spaces import read_active
from recollect.core.recall.request import Candidate
from recollect.core.recall.space import Survey, unit_vector

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recollect.adapters.sqlite.vectors.matrix import Matrix, Near
    from recollect.core.memory.memory import Scope
    from recollect.core.recall.space import StoredSpace
    from recollect.core.text.passages import Span
    from recollect.ports.recall import VectorQuery

MAX_MATRICES: Final = 4
"""If a file has several owners, the matrices of those that recalled last are cached."""

_NUMBER: Final = "SELECT number FROM memories WHERE owner = ? AND id = ?"
# CROSS JOIN fixes the join order: by number; the planner would read all rows of the owner.
# A vector that must be recomputed has no tokens either.
_TOKENS: Final = """
SELECT m.id, t.block FROM json_each(?) p
CROSS JOIN memories m ON m.owner = ? AND m.id = json_extract(p.value, '$[0]')
CROSS JOIN embeddings e ON e.owner = m.owner AND e.memory = m.number
CROSS JOIN token_vectors t ON t.embedding = e.id
WHERE e.space_id = ? AND e.vector IS NOT NULL AND e.start_char IS json_extract(p.value, '$[1]')
"""
_MEMORIES: Final = """
SELECT m.number, m.id, m.importance, m.created_at
FROM json_each(?) n CROSS JOIN memories m ON m.number = n.value
WHERE m.owner = ? AND m.deleted_at IS NULL
"""


class _MatrixCache:
    """The matrices that were read over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._matrices: OrderedDict[tuple[str, int], tuple[int, Matrix]] = OrderedDict()

    def matrix(self, owner: str, space: StoredSpace) -> Matrix:
        """Return an owner's current vectors in a space."""
        from recollect.adapters.sqlite.vectors.matrix import Matrix

        key = (owner, space.id)
        (version,) = self.connection.execute("PRAGMA data_version").fetchone()
        seen, matrix = self._matrices.pop(key, (None, None))
        if matrix is None:
            matrix = Matrix(owner, space.id, space.space.dimension)
        if seen != version:
            self.connection.execute("BEGIN")
            try:
                matrix.refresh(self.connection)
            finally:
                self.connection.execute("ROLLBACK")
        self._matrices[key] = version, matrix
        while len(self._matrices) > MAX_MATRICES:
            self._matrices.popitem(last=False)
        return matrix


class VectorSearch(SqliteComponent):
    """Implements the ports `VectorIndex` and `TokenIndex`."""

    _kept: _MatrixCache | None = None

    async def survey(self, owner: str, scope: Scope) -> Survey:  # noqa: ARG002  # the port's
        """Count no rows: an exact search has no plan to choose."""
        return Survey(await self._searcher.run_until_cancelled(read_active), use_index=False)

    async def nearest(self, owner: str, scope: Scope, query: VectorQuery) -> list[Candidate]:
        if query.depth < 1:
            return []
        vector = unit_vector(query.space.space, query.vector)

        # Runs to its end even if the caller's deadline passes: the next search needs it as well.
        await self._searcher.run(lambda connection: self._matrix(connection, owner, query.space))

        def work(connection: sqlite3.Connection) -> list[Candidate]:
            matrix = self._matrix(connection, owner, query.space)
            excluded = _numbers(connection, owner, query.exclude)
            found = matrix.nearest(connection, scope, vector, query.depth, excluded, query.spread)
            return _candidates(connection, owner, found)[: query.depth]

        return await self._searcher.run_until_cancelled(work)

    async def token_vectors(
        self, owner: str, space: StoredSpace, passages: Mapping[UUID, Span | None]
    ) -> dict[UUID, bytes]:
        places = [(str(id), None if span is None else span.start) for id, span in passages.items()]
        values = (json.dumps(places), owner, space.id)
        rows = await self._searcher.run_until_cancelled(
            lambda connection: connection.execute(_TOKENS, values).fetchall()
        )
        return {UUID(id): block for id, block in rows}

    async def load(self, owner: str) -> None:
        """Read an owner's vectors now rather than with the first search."""

        def work(connection: sqlite3.Connection) -> None:
            space = read_active(connection)
            if space is not None:
                self._matrix(connection, owner, space)

        await self._searcher.run(work)

    def _matrix(self, connection: sqlite3.Connection, owner: str, space: StoredSpace) -> Matrix:
        if self._kept is None or self._kept.connection is not connection:
            self._kept = _MatrixCache(connection)
        return self._kept.matrix(owner, space)


def _numbers(connection: sqlite3.Connection, owner: str, ids: Iterable[UUID]) -> list[int]:
    rows = (connection.execute(_NUMBER, (owner, str(id))).fetchone() for id in ids)
    return [row[0] for row in rows if row is not None]


def _candidates(
    connection: sqlite3.Connection, owner: str, found: Iterable[Near]
) -> list[Candidate]:
    """Read what ranking needs to know of these, best first; equally near ones by their ids."""
    near = {each.number: each for each in found}
    rows = connection.execute(_MEMORIES, (json.dumps(list(near)), owner))
    candidates = [
        Candidate(
            UUID(id),
            near[number].score,
            importance,
            moment(created_at),
            passage=near[number].passage,
        )
        for number, id, importance, created_at in rows
    ]
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.id))
