"""The vectors of one owner in one space as an in-memory matrix, for exact search. A long text has
several vectors, one per passage; it is found by the nearest.

The columns that a scope filters by are stored with the vectors, so that the scope is applied before
any vector is compared, without reading a hundred thousand rows from SQLite. Only changes are read
again: `vector_changes` counts changes and removals.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from recollect.adapters.sqlite.rows import inside, microseconds
from recollect.core.text.passages import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.core.memory.memory import Scope

_STATE: Final = "SELECT position, removed FROM vector_changes"
_CHANGED: Final = """
SELECT e.id, e.memory, m.project, m.session, m.category, m.created_at, m.valid_from,
    m.valid_until, e.start_char, e.end_char, e.vector
FROM embeddings e JOIN memories m ON m.number = e.memory
WHERE e.owner = ? AND e.space_id = ? AND e.position > ? AND e.vector IS NOT NULL
"""
_LEFT: Final = """
SELECT id FROM embeddings WHERE owner = ? AND space_id = ? AND vector IS NOT NULL
"""
_ALWAYS: Final = np.iinfo(np.int64)
_READ_AT_ONCE: Final = 4_096
_MIN_ROOM: Final = 64
_GATHERED: Final = 8
"""A scope with less than 1/8 of the vectors is gathered first; for a larger one it is faster to
compare
all vectors and select those in the scope."""


class Near(NamedTuple):
    """A memory, its similarity, and its nearest passage."""

    number: int
    score: float
    passage: Span | None


class Matrix:
    """Used from one thread."""

    def __init__(self, owner: str, space_id: int, dimension: int) -> None:
        self._owner = owner
        self._space_id = space_id
        self._dimension = dimension
        self._position = self._removed = self._count = 0
        self._places: dict[int, int] = {}
        self._codes: dict[str | None, int] = {None: 0}
        self._rows = np.empty(0, np.int64)
        self._numbers = np.empty(0, np.int64)
        self._starts = np.empty(0, np.int32)
        self._ends = np.empty(0, np.int32)
        self._created = np.empty(0, np.int64)
        self._valid_from = np.empty(0, np.int64)
        self._valid_until = np.empty(0, np.int64)
        self._projects = np.empty(0, np.int32)
        self._sessions = np.empty(0, np.int32)
        self._categories = np.empty(0, np.int32)
        self._vectors = np.empty((0, dimension), np.float32)

    @property
    def bytes(self) -> int:
        return sum(column.nbytes for column in self._columns())

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Read changes, in a transaction of the caller, so that they are from one snapshot."""
        position, removed = connection.execute(_STATE).fetchone()
        if position != self._position:
            values = (self._owner, self._space_id, self._position)
            cursor = connection.execute(_CHANGED, values)
            while rows := cursor.fetchmany(_READ_AT_ONCE):
                self._write(rows)
        if removed != self._removed:
            self._drop_missing(connection)
        self._position, self._removed = position, removed

    def nearest(
        self,
        connection: sqlite3.Connection,
        scope: Scope,
        vector: Sequence[float],
        depth: int,
        exclude: Iterable[int],
    ) -> list[Near]:
        """Return memories of a scope by cosine, each once: the `depth` nearest, if there are that
        many, and all that are as near as the last one.
        """
        places = self._select(connection, scope, exclude)
        query = np.asarray(vector, np.float32)
        vectors = self._vectors[: self._count]
        if places is None:
            scores = vectors @ query
        elif len(places) * _GATHERED < self._count:
            scores = vectors[places] @ query
        else:
            scores = (vectors @ query)[places]
        best = self._find_best(places, scores, depth)
        found = best if places is None else places[best]
        return [
            Near(number, score, Span(start, end) if end else None)
            for number, score, start, end in zip(
                self._numbers[found].tolist(),
                scores[best].tolist(),
                self._starts[found].tolist(),
                self._ends[found].tolist(),
                strict=True,
            )
        ]

    def _find_best(
        self, places: NDArray[np.int64] | None, scores: NDArray[np.float32], depth: int
    ) -> NDArray[np.int64]:
        """Return the index in `scores` of the nearest passage of each of the nearest memories. Only
        the first passages are grouped by memory; if these are too few memories, more are taken.
        """
        most = depth
        while True:
            best = _find_largest(scores, most)
            found = best if places is None else places[best]
            if not self._ends[found].any():
                return best
            order = best[np.argsort(-scores[best], kind="stable")]
            numbers = self._numbers[order if places is None else places[order]]
            firsts = order[np.unique(numbers, return_index=True)[1]]
            if len(firsts) >= depth or len(best) == len(scores):
                return firsts
            most *= 4

    def _select(
        self, connection: sqlite3.Connection, scope: Scope, exclude: Iterable[int]
    ) -> NDArray[np.int64] | None:
        """Return the rows of a scope; None for all."""
        if scope.tags:
            condition, values = inside(self._owner, scope)
            statement = f"SELECT m.number FROM memories m WHERE {condition}"  # noqa: S608  # constants
            inner = [row[0] for row in connection.execute(statement, values)]
            mask = np.isin(self._numbers[: self._count], inner)
        else:
            mask = self._mask(scope)
        excluded = list(exclude)
        if excluded:
            mask &= ~np.isin(self._numbers[: self._count], excluded)
        return None if mask.all() else np.flatnonzero(mask)

    def _mask(self, scope: Scope) -> NDArray[np.bool_]:
        count = self._count
        mask = np.ones(count, bool)
        if scope.with_global or scope.project is not None:
            named = [scope.project] if scope.project is not None else []
            mask &= self._is_any(self._projects, [*named, *([None] if scope.with_global else [])])
        if scope.sessions:
            mask &= self._is_any(self._sessions, scope.sessions)
        if scope.categories:
            mask &= self._is_any(self._categories, scope.categories)
        if scope.since is not None:
            mask &= self._created[:count] >= microseconds(scope.since)
        if scope.until is not None:
            mask &= self._created[:count] < microseconds(scope.until)
        if scope.valid_at is not None:
            at = microseconds(scope.valid_at)
            mask &= (self._valid_from[:count] <= at) & (self._valid_until[:count] > at)
        return mask

    def _is_any(self, column: NDArray[np.int32], texts: Iterable[str | None]) -> NDArray[np.bool_]:
        codes = [self._codes[text] for text in texts if text in self._codes]
        return np.isin(column[: self._count], codes)

    def _write(self, rows: Sequence[Any]) -> None:
        """Write rows to the matrix, each to its place or to a new one."""
        new = [row[0] for row in rows if row[0] not in self._places]
        self._make_room(len(new))
        for row in new:
            self._places[row] = self._count
            self._count += 1
        at = np.array([self._places[row[0]] for row in rows], np.int64)
        self._rows[at] = [row[0] for row in rows]
        self._numbers[at] = [row[1] for row in rows]
        self._projects[at] = [self._code(row[2]) for row in rows]
        self._sessions[at] = [self._code(row[3]) for row in rows]
        self._categories[at] = [self._code(row[4]) for row in rows]
        self._created[at] = [row[5] for row in rows]
        self._valid_from[at] = [_ALWAYS.min if row[6] is None else row[6] for row in rows]
        self._valid_until[at] = [_ALWAYS.max if row[7] is None else row[7] for row in rows]
        self._starts[at] = [row[8] or 0 for row in rows]
        self._ends[at] = [row[9] or 0 for row in rows]
        stored = np.frombuffer(b"".join(row[10] for row in rows), "<f2")
        self._vectors[at] = stored.reshape(len(rows), self._dimension)

    def _code(self, text: str | None) -> int:
        return self._codes.setdefault(text, len(self._codes))

    def _make_room(self, more: int) -> None:
        needed = self._count + more
        if needed > len(self._rows):
            room = max(_MIN_ROOM, needed, needed + needed // 4 if self._count else needed)
            self._set_columns([_enlarge(column, room, self._count) for column in self._columns()])

    def _drop_missing(self, connection: sqlite3.Connection) -> None:
        left = {row[0] for row in connection.execute(_LEFT, (self._owner, self._space_id))}
        kept = [place for row, place in self._places.items() if row in left]
        if len(kept) < self._count:
            self._set_columns([column[kept] for column in self._columns()])
            self._count = len(kept)
            self._places = {int(row): place for place, row in enumerate(self._rows)}

    def _columns(self) -> list[NDArray[Any]]:
        return [
            self._rows,
            self._numbers,
            self._starts,
            self._ends,
            self._created,
            self._valid_from,
            self._valid_until,
            self._projects,
            self._sessions,
            self._categories,
            self._vectors,
        ]

    def _set_columns(self, columns: Sequence[NDArray[Any]]) -> None:
        (
            self._rows,
            self._numbers,
            self._starts,
            self._ends,
            self._created,
            self._valid_from,
            self._valid_until,
            self._projects,
            self._sessions,
            self._categories,
            self._vectors,
        ) = columns


def _enlarge(column: NDArray[Any], room: int, count: int) -> NDArray[Any]:
    larger = np.empty((room, *column.shape[1:]), column.dtype)
    larger[:count] = column[:count]
    return larger


def _find_largest(scores: NDArray[np.float32], most: int) -> NDArray[np.int64]:
    """Return where the largest scores are, and all that are equal to the last of them."""
    if len(scores) <= most:
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - most)[len(scores) - most]
    return np.flatnonzero(scores >= least)
