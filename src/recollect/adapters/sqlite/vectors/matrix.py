"""The vectors of one owner in one space as an in-memory matrix, for exact search. A long text has
several vectors, one per passage; it is found by the nearest, whose similarity counts without what
the nearest of so many gains by chance.

The columns that a scope filters by are stored with the vectors, so that the scope is applied before
any vector is compared, without reading a hundred thousand rows from SQLite. Only changes are read
again: `vector_changes` counts changes and removals.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from recollect.adapters.sqlite.rows import inside, microseconds
from recollect.core.recall.background import gain_by_chance
from recollect.core.text.passages import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.core.memory.memory import Scope

_STATE: Final = "SELECT position, removed FROM vector_changes"
_CHANGED: Final = """
SELECT e.id, e.memory, m.project, m.session, m.category, m.created_at,
    coalesce(m.valid_from, :min), coalesce(m.valid_until, :max),
    coalesce(e.start_char, 0), coalesce(e.end_char, 0), e.vector
FROM embeddings e JOIN memories m ON m.number = e.memory
WHERE e.owner = :owner AND e.space_id = :space AND e.position > :position
    AND e.vector IS NOT NULL
"""
_LEFT: Final = """
SELECT id FROM embeddings WHERE owner = ? AND space_id = ? AND vector IS NOT NULL
"""
# The columns of `_CHANGED`, in its order; texts as codes.
_TYPES: Final[Mapping[str, type[np.generic]]] = {
    "row": np.int64,
    "number": np.int64,
    "project": np.int32,
    "session": np.int32,
    "category": np.int32,
    "created": np.int64,
    "valid_from": np.int64,
    "valid_until": np.int64,
    "start": np.int32,
    "end": np.int32,
    "vector": np.float32,
}
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
        self._gains = np.empty(0, np.float32)
        self._places: dict[int, int] = {}
        self._codes: dict[str | None, int] = {None: 0}
        self._columns: dict[str, NDArray[Any]] = {
            name: np.empty((0, dimension) if name == "vector" else 0, type_)
            for name, type_ in _TYPES.items()
        }

    @property
    def bytes(self) -> int:
        return sum(column.nbytes for column in self._columns.values())

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Read changes, in a transaction of the caller, so that they are from one snapshot."""
        position, removed = connection.execute(_STATE).fetchone()
        if position != self._position:
            values = {"min": int(_ALWAYS.min), "max": int(_ALWAYS.max)}
            since = {"owner": self._owner, "space": self._space_id, "position": self._position}
            cursor = connection.execute(_CHANGED, values | since)
            while rows := cursor.fetchmany(_READ_AT_ONCE):
                self._write(rows)
        if removed != self._removed:
            self._drop_missing(connection)
        if (position, removed) != (self._position, self._removed):
            self._gains = self._compute_gains()
        self._position, self._removed = position, removed

    def nearest(
        self,
        connection: sqlite3.Connection,
        scope: Scope,
        vector: Sequence[float],
        depth: int,
        exclude: Iterable[int],
        spread: float,
    ) -> list[Near]:
        """Return memories of a scope by similarity, each once: the `depth` nearest, if there are
        that many, and all that are as near as the last one.
        """
        places = self._select(connection, scope, exclude)
        query = np.asarray(vector, np.float32)
        vectors, by_chance = self._column("vector"), np.float32(spread) * self._gains
        if places is None:
            scores = vectors @ query - by_chance
        elif len(places) * _GATHERED < self._count:
            scores = vectors[places] @ query - by_chance[places]
        else:
            scores = (vectors @ query - by_chance)[places]
        best = self._find_best(places, scores, depth)
        found = best if places is None else places[best]
        return [
            Near(number, score, Span(start, end) if end else None)
            for number, score, start, end in zip(
                self._column("number")[found].tolist(),
                scores[best].tolist(),
                self._column("start")[found].tolist(),
                self._column("end")[found].tolist(),
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
            if not self._column("end")[found].any():
                return best
            order = best[np.argsort(-scores[best], kind="stable")]
            numbers = self._column("number")[order if places is None else places[order]]
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
            mask = np.isin(self._column("number"), inner)
        else:
            mask = self._mask(scope)
        excluded = list(exclude)
        if excluded:
            mask &= ~np.isin(self._column("number"), excluded)
        return None if mask.all() else np.flatnonzero(mask)

    def _mask(self, scope: Scope) -> NDArray[np.bool_]:
        mask = np.ones(self._count, bool)
        if scope.with_global or scope.project is not None:
            named = [scope.project] if scope.project is not None else []
            mask &= self._is_any("project", [*named, *([None] if scope.with_global else [])])
        if scope.sessions:
            mask &= self._is_any("session", scope.sessions)
        if scope.categories:
            mask &= self._is_any("category", scope.categories)
        if scope.since is not None:
            mask &= self._column("created") >= microseconds(scope.since)
        if scope.until is not None:
            mask &= self._column("created") < microseconds(scope.until)
        if scope.valid_at is not None:
            at = microseconds(scope.valid_at)
            mask &= (self._column("valid_from") <= at) & (self._column("valid_until") > at)
        return mask

    def _is_any(self, name: str, texts: Iterable[str | None]) -> NDArray[np.bool_]:
        codes = [self._codes[text] for text in texts if text in self._codes]
        return np.isin(self._column(name), codes)

    def _write(self, rows: Sequence[Any]) -> None:
        """Write rows to the matrix, each to its place or to a new one."""
        new = [row[0] for row in rows if row[0] not in self._places]
        self._make_room(len(new))
        for row in new:
            self._places[row] = self._count
            self._count += 1
        at = np.array([self._places[row[0]] for row in rows], np.int64)
        for name, values in zip(_TYPES, zip(*rows, strict=True), strict=True):
            self._columns[name][at] = self._encode(name, values)

    def _encode(self, name: str, values: Sequence[Any]) -> Sequence[Any] | NDArray[Any]:
        if name == "vector":
            stored = np.frombuffer(b"".join(values), "<f2")
            return stored.reshape(len(values), self._dimension)
        if name in ("project", "session", "category"):
            return [self._code(text) for text in values]
        return values

    def _code(self, text: str | None) -> int:
        return self._codes.setdefault(text, len(self._codes))

    def _make_room(self, more: int) -> None:
        needed = self._count + more
        if needed > len(self._columns["row"]):
            room = max(_MIN_ROOM, needed, needed + needed // 4 if self._count else needed)
            for name, column in self._columns.items():
                self._columns[name] = _enlarge(column, room, self._count)

    def _drop_missing(self, connection: sqlite3.Connection) -> None:
        left = {row[0] for row in connection.execute(_LEFT, (self._owner, self._space_id))}
        kept = [place for row, place in self._places.items() if row in left]
        if len(kept) < self._count:
            for name, column in self._columns.items():
                self._columns[name] = column[kept]
            self._count = len(kept)
            self._places = {int(row): place for place, row in enumerate(self._column("row"))}

    def _compute_gains(self) -> NDArray[np.float32]:
        """Return what each row's memory gains by chance from its number of passages."""
        numbers = self._column("number")
        _, memory, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        most = int(counts.max(initial=0))
        gains = np.array([gain_by_chance(count) for count in range(1, most + 1)], np.float32)
        return gains[counts - 1][memory]

    def _column(self, name: str) -> NDArray[Any]:
        """Return the part of a column that is in use."""
        return self._columns[name][: self._count]


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
