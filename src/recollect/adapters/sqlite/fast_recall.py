"""The local store, opened for one recall without an event loop (docs/adr/0020).

Its methods are coroutines, as the ports require, but never wait: each reads from the connection and
returns. Nothing is ever written: a store that is missing or has another version is an error, which
other commands fix. A hook asks about the present, so `as_of` is ignored.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.adapters.sqlite.lexical.search import search
from recollect.adapters.sqlite.read_only import read_only_address
from recollect.adapters.sqlite.rows import from_row, id_list, projects
from recollect.core.recall.successors import AsOf, Fetched, Resolution

if TYPE_CHECKING:
    from recollect.core.memory.memory import Scope
    from recollect.core.recall.request import Candidate
    from recollect.core.recall.settings import WordQuery

_GET_MANY: Final = """
SELECT * FROM memories
WHERE owner = ? AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(?))
"""
_ANY_LINK: Final = "SELECT 1 FROM memory_links LIMIT 1"
# The same as in `SqliteSync.unsent_ids`: memories whose current state the server does not have.
_UNSENT: Final = """
SELECT id FROM outbox WHERE owner = :owner
UNION SELECT m.id FROM memories m JOIN synced s ON s.owner = m.owner AND s.id = m.id
WHERE s.withheld AND m.owner = :owner
"""


class FastStore:
    """Implements the ports that recall by words needs. Close it after use."""

    def __init__(self, path: str, seconds: float) -> None:
        address = read_only_address(path)
        self._connection = sqlite3.connect(address, uri=True, timeout=seconds, isolation_level=None)
        self._connection.row_factory = sqlite3.Row

    def close(self) -> None:
        self._connection.close()

    async def read_settings(self) -> Mapping[str, object]:
        with closing(self._connection.execute("SELECT name, value FROM settings")) as rows:
            return {name: json.loads(value) for name, value in rows}

    async def projects(self, owner: str) -> list[str]:
        return projects(self._connection, owner)

    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        return search(self._connection, owner, scope, query)

    async def fetch(
        self,
        owner: str,
        ids: Collection[UUID],
        as_of: AsOf = None,  # noqa: ARG002  # the port's
    ) -> Fetched:
        """Fetch memories. Most stores have no links; then the module for them is not imported."""
        if self._connection.execute(_ANY_LINK).fetchone() is not None:
            from recollect.adapters.sqlite.history import links

            return links.fetch(self._connection, owner, ids)
        with closing(self._connection.execute(_GET_MANY, (owner, id_list(ids)))) as rows:
            return Fetched({memory.id: memory for memory in map(from_row, rows)})

    async def follow(
        self,
        owner: str,
        old: Collection[UUID],
        named: Collection[UUID],
        as_of: AsOf = None,  # noqa: ARG002  # the port's
    ) -> Resolution:
        from recollect.adapters.sqlite.history import links

        return links.follow(self._connection, owner, old, named)

    async def unsent_ids(self, owner: str) -> set[UUID]:
        with closing(self._connection.execute(_UNSENT, {"owner": owner})) as rows:
            return {UUID(id) for (id,) in rows}
