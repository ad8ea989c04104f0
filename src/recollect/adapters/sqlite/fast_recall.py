"""Recall from the local store without an event loop, for a hook that has no time for one.

Importing `asyncio` costs a fresh process as much as everything else that a recall needs (ADR
0020). So the same parts, the lexical leg's own search, fusion and ranking, are called one after the
other here; a test holds the answers equal to those of the recall use case. Nothing is ever written:
a store that is missing or of another version is an error, for others to mend.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final
from urllib.parse import quote
from uuid import UUID

from recollect.adapters.sqlite.lexical.search import search
from recollect.adapters.sqlite.rows import from_row, id_list, projects
from recollect.core.memory.memory import Memory
from recollect.core.memory.project import is_whole, resolve_project
from recollect.core.recall.fusion import fuse
from recollect.core.recall.ranking import Ranked, exactness, rank
from recollect.core.recall.request import Candidate, Hit, RecallRequest
from recollect.core.recall.settings import RecallSettings, WordQuery

_GET_MANY: Final = """
SELECT * FROM memories
WHERE owner = ? AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(?))
"""
_ANY_LINK: Final = "SELECT 1 FROM memory_links LIMIT 1"
# As `SqliteSync.unsent_ids` reads it: what the server does not have as it is here.
_UNSENT: Final = """
SELECT id FROM outbox WHERE owner = :owner
UNION SELECT m.id FROM memories m JOIN synced s ON s.id = m.id
WHERE s.withheld AND m.owner = :owner
"""


class FastStore:
    """The memories of one owner in one file, for reading; close it."""

    def __init__(self, path: str, owner: str, seconds: float) -> None:
        address = f"file:{quote(path)}?mode=ro"
        self._connection = sqlite3.connect(address, uri=True, timeout=seconds, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._owner = owner

    def close(self) -> None:
        self._connection.close()

    def recall(self, request: RecallRequest) -> list[Hit]:
        """What the recall use case answers on this store, by words."""
        request = self.resolve_project(request.checked())
        settings = self._settings()
        query = WordQuery(
            text=request.query,
            depth=max(settings.depth, request.limit),
            exclude=request.exclude,
        )
        found = search(self._connection, self._owner, request.scope, query)
        fused = fuse({"lexical": found}, settings.weights(), settings.fusion, settings.constant)
        bonuses = self._bonuses(request.query, settings.exact_bonus, found)
        order = rank(fused, request.sort_by, bonuses, settings.prior_strength)
        hits = self._hits(order[: request.limit])
        shown = self.follow(request, hits)
        if len(shown) < len(hits):  # several of them are one now: others move up
            shown = self.follow(request, self._hits(order))
        return shown[: request.limit]

    def resolve_project(self, request: RecallRequest) -> RecallRequest:
        """The request with its project named in full."""
        name = request.scope.project
        if name is None or is_whole(name):
            return request
        project = resolve_project(name, projects(self._connection, self._owner))
        return replace(request, scope=replace(request.scope, project=project))

    def follow(self, request: RecallRequest, hits: Sequence[Hit]) -> list[Hit]:
        """The hits with what their links lead to, as `usecases/recall/successors.py` does it. Most
        stores hold no link, and there nothing is imported for them.
        """
        if self._connection.execute(_ANY_LINK).fetchone() is None:
            return [*hits]
        from recollect.adapters.sqlite.history.links import fetch, follow
        from recollect.core.memory.links import targets
        from recollect.core.recall.successors import resolve_successors

        known = fetch(self._connection, self._owner, [hit.memory.id for hit in hits])
        named = {target for hit in hits for target in targets(hit.memory.links)}
        followed = follow(self._connection, self._owner, known.superseded, named)
        return resolve_successors(request, hits, followed)

    def _hits(self, order: Sequence[Ranked]) -> list[Hit]:
        memories = self.get_many([one.id for one in order])
        return [
            Hit(memories[one.id], one.score, one.fused.score, one.prior, one.fused.legs, one.bonus)
            for one in order
            if one.id in memories
        ]

    def get_many(self, ids: Collection[UUID]) -> dict[UUID, Memory]:
        """Those that are here and not forgotten."""
        with closing(self._connection.execute(_GET_MANY, (self._owner, id_list(ids)))) as rows:
            return {memory.id: memory for memory in map(from_row, rows)}

    def unsent_ids(self) -> set[UUID]:
        with closing(self._connection.execute(_UNSENT, {"owner": self._owner})) as rows:
            return {UUID(id) for (id,) in rows}

    def _settings(self) -> RecallSettings:
        with closing(self._connection.execute("SELECT name, value FROM settings")) as rows:
            return RecallSettings.stored({name: json.loads(value) for name, value in rows})

    def _bonuses(
        self, query: str, strength: float, found: Collection[Candidate]
    ) -> Mapping[UUID, float] | None:
        if strength <= 0.0:
            return None
        memories = self.get_many([one.id for one in found])
        return {id: 1.0 + strength * exactness(query, one.content) for id, one in memories.items()}
