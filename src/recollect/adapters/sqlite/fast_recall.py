"""The local store, opened for one recall without an event loop (docs/adr/0020).

Its methods are coroutines, as the ports require, but never wait: each reads from the connection and
returns. Nothing is ever written: a store that is missing or has another version is an error, which
other commands fix. A hook asks about the present, so `as_of` is ignored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from recollect.adapters.sqlite import rows
from recollect.adapters.sqlite.lexical.search import search
from recollect.adapters.sqlite.read_only import read_only_address
from recollect.core.recall.successors import AsOf, Fetched, Resolution

if TYPE_CHECKING:
    from uuid import UUID

    from recollect.core.memory.memory import Scope
    from recollect.core.recall.request import Candidate
    from recollect.core.recall.settings import WordQuery

_ANY_LINK: Final = "SELECT 1 FROM memory_links LIMIT 1"


class FastStore:
    """Implements the ports that recall by words needs. Close it after use."""

    def __init__(self, path: str, seconds: float) -> None:
        address = read_only_address(path)
        self._connection = sqlite3.connect(address, uri=True, timeout=seconds, isolation_level=None)
        self._connection.row_factory = sqlite3.Row

    def close(self) -> None:
        self._connection.close()

    async def read_settings(self) -> Mapping[str, object]:
        return rows.read_settings(self._connection)

    async def projects(self, owner: str) -> list[str]:
        return rows.projects(self._connection, owner)

    async def former_names(self, owner: str) -> Mapping[str, str]:
        return rows.former_names(self._connection, owner)

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
        return Fetched(rows.get_many(self._connection, owner, ids))

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
        return rows.unsent_ids(self._connection, owner)
