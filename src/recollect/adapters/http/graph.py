"""The concept graph of a remote server, over its REST API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from recollect.adapters.http.client import RemoteService
from recollect.core.graph.model import Concept, GraphPath, GraphStats, Neighbourhood
from recollect.wire.graph import CONCEPT, GRAPH_STATS, NEIGHBOURHOOD, PATH


class RemoteGraph:
    """Implements the `Graph` port with an open connection to a server."""

    def __init__(self, server: RemoteService) -> None:
        self._ask = server.ask

    async def show(
        self, name: str, *, limit: int = 20, as_of: datetime | None = None, history: bool = False
    ) -> Neighbourhood:
        query = {"name": name, "limit": limit, "history": history, **_at(as_of)}
        return await self._ask(NEIGHBOURHOOD, "GET", "graph/concept", query=query)

    async def path(
        self, source: str, target: str, *, as_of: datetime | None = None
    ) -> GraphPath | None:
        query = {"source": source, "target": target, **_at(as_of)}
        return await self._ask(PATH, "GET", "graph/path", query=query)

    async def stats(self) -> GraphStats:
        return await self._ask(GRAPH_STATS, "GET", "graph/stats")

    async def merge(self, into: str, other: str) -> Concept:
        body = {"into": into, "other": other}
        return await self._ask(CONCEPT, "POST", "graph/merge", body=body)

    async def split(self, concept: str, alias: str) -> Concept:
        body = {"concept": concept, "alias": alias}
        return await self._ask(CONCEPT, "POST", "graph/split", body=body)


def _at(as_of: datetime | None) -> Mapping[str, str]:
    return {} if as_of is None else {"as_of": as_of.isoformat()}
