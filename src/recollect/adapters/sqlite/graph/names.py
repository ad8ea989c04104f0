"""The vectors of one owner's concept names in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from recollect.core.recall.space import unit_vector

if TYPE_CHECKING:
    from recollect.core.recall.space import StoredSpace

_NEW: Final = """
SELECT number, concept_id, vector FROM concept_vectors
WHERE number > ? AND owner = ? AND space_id = ? ORDER BY number
"""


class NameMatrix:
    """New names are added; a removed name is skipped, and stays until the process ends."""

    def __init__(self, reader: sqlite3.Connection, owner: str, space: StoredSpace) -> None:
        self._reader = reader
        self._owner = owner
        self._space = space
        self._last = 0
        self._places: dict[str, int] = {}
        self._ids: list[str] = []
        self._vectors = np.empty((0, space.space.dimension), np.float32)

    def is_of(self, reader: sqlite3.Connection, owner: str, space: StoredSpace) -> bool:
        return (reader, owner, space.id) == (self._reader, self._owner, self._space.id)

    def refresh(self) -> None:
        rows = self._reader.execute(_NEW, (self._last, self._owner, self._space.id)).fetchall()
        if not rows:
            return
        self._last = rows[-1]["number"]
        for row in rows:
            if row["concept_id"] not in self._places:
                self._places[row["concept_id"]] = len(self._ids)
                self._ids.append(row["concept_id"])
        if len(self._ids) > len(self._vectors):
            room = np.empty((len(self._ids) * 5 // 4, self._vectors.shape[1]), np.float32)
            room[: len(self._vectors)] = self._vectors
            self._vectors = room
        at = [self._places[row["concept_id"]] for row in rows]
        stored = np.frombuffer(b"".join(row["vector"] for row in rows), "<f2")
        self._vectors[at] = stored.reshape(len(rows), -1)

    def nearest(self, vector: Sequence[float], least: float, limit: int) -> list[tuple[str, float]]:
        """Return the names of at least this similarity, nearest first; equally near ones by id."""
        query = np.asarray(unit_vector(self._space.space, vector), np.float32)
        scores = self._vectors[: len(self._ids)] @ query
        close = np.flatnonzero(scores >= least)
        found = [(self._ids[place], float(scores[place])) for place in close]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]
