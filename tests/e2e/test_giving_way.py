"""A server's background work, embedding and reading for the graph, gives way to requests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from recollect.core.memory.memory import Draft
from recollect.settings import load
from recollect.usecases.graph.extract import Extracted, extract_batch
from recollect.usecases.priority import MAX_YIELD_SECONDS
from recollect.usecases.service import LocalService
from recollect.wiring.server import open_server

pytestmark = pytest.mark.anyio
TEXTS = ["the harbour freezes in January", "Ana Lund repairs the pier", "the pier is closed"]


async def test_server_background_work_yields_to_callers(
    database_url: str, home_with_model: Path
) -> None:
    settings = load(database_url=database_url, home=home_with_model, worker="off")
    clock = asyncio.get_running_loop().time
    async with open_server(settings) as server:
        for text in TEXTS:
            await LocalService(server.context, "ana").remember(Draft(text))
        assert server.embedding is not None
        embedder = await server.embedding.embedders.embedder("minilm")
        with server.context.callers.answering():
            begun = clock()
            # One after the other; each waits as long as it may.
            for text in TEXTS:
                await embedder.embed_documents([text])
            embedded = clock()
            assert await extract_batch(server.graph) == Extracted(len(TEXTS))
            read = clock()
    assert embedded - begun >= len(TEXTS) * MAX_YIELD_SECONDS
    assert read - embedded >= len(TEXTS) * MAX_YIELD_SECONDS
