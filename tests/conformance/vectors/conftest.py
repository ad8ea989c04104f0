"""The vectors of Postgres are searched by pgvector, or by Qdrant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.conformance.stores import Place, QdrantPlace
from tests.qdrant_loopback import LocalClient, QdrantServer

from recollect.adapters.qdrant.engine import Qdrant, connect


@pytest.fixture(params=["sqlite", "postgres", "qdrant-local", "qdrant-edge"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    if request.param == "sqlite":
        yield tmp_path / "memories.db"
        return
    url: str = request.getfixturevalue("emptied_database_url")
    if request.param == "postgres":
        yield url
    elif request.param == "qdrant-local":
        client = LocalClient()
        yield QdrantPlace(url, Qdrant(client))
        await client.close()
    else:
        with QdrantServer(tmp_path / "qdrant") as server:
            engine = connect(server.url, None)
            yield QdrantPlace(url, engine)
            await engine.close()
