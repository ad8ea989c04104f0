"""Embedding in the local store when the disk is full, the file read-only, or others embed too."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from uuid import UUID

import pytest
from tests.conformance.samples import fill, ids, memory, search
from tests.conformance.stores import NORTH, SPACE, embed_all, embedded, make_due, nearest
from tests.faults.test_sqlite_faults import limit_pages, python
from tests.usecases.queues import Model, Models

from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.errors import StoreFull
from recollect.usecases.workers.catch_up import catch_up
from recollect.usecases.workers.embed import EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker

pytestmark = pytest.mark.anyio

# Searches, then tries to embed what waits, as a user who may only read.
READER = """
import asyncio, os, sys
from pathlib import Path
import recollect.adapters.sqlite.vectors.queue, recollect.adapters.sqlite.vectors.matrix
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.errors import StoreReadOnly
from recollect.core.memory.memory import EVERYWHERE
from recollect.ports.recall import VectorQuery

async def main(path):
    async with SqliteStore(Path(path)) as store:
        space = (await store.vectors.survey("ada", EVERYWHERE)).space
        query = VectorQuery(space, [1.0, 0.0], 0)
        print("found", *(hit.id for hit in await store.vectors.nearest("ada", EVERYWHERE, query)))
        try:
            await store.vectors.claim(space, 1)
        except StoreReadOnly:
            print("read-only")

if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
asyncio.run(main(sys.argv[1]))
"""


def context_of(store: SqliteStore, model: Model) -> EmbeddingContext:
    return EmbeddingContext(store.vectors, Models({model.name: model}), model.name)


async def test_a_full_disk_keeps_vectors_out_and_loses_nothing(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "memories.db") as store:
        step = EmbeddingStep(context_of(store, Model("large", dimension=3_000)))
        await store.vectors.open_space("large", Model("large", dimension=3_000).space)
        await fill(store, *(memory(number, f"harbour {number}") for number in range(1, 31)))
        await limit_pages(store, 2)
        with pytest.raises(StoreFull):
            await Worker(step).work_off()
        await catch_up([step])  # a command does not fail because of it
        assert len(await search(store, "harbour")) == 30

        def allow(writer: sqlite3.Connection) -> None:
            writer.execute("PRAGMA max_page_count = 1000000").fetchone()

        await store.threads.writer.run(allow)
        await make_due(store)
        await Worker(step).work_off()
        assert await embedded(store) == set(range(1, 31))


async def test_two_processes_embed_each_memory_once(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    first, second = Model("compass", dimension=2), Model("compass", dimension=2)
    async with SqliteStore(path) as one, SqliteStore(path) as other:
        await one.vectors.open_space("compass", first.space)
        await fill(one, *(memory(number, f"note {number}") for number in range(1, 101)))
        await asyncio.gather(
            Worker(EmbeddingStep(context_of(one, first))).work_off(),
            Worker(EmbeddingStep(context_of(other, second))).work_off(),
        )
        assert await embedded(one) == set(range(1, 101))
    texts = [text for model in (first, second) for batch in model.asked for text in batch]
    notes = [text for text in texts if text.startswith("note")]
    assert len(notes) == len(set(notes)) == 100


async def test_a_store_that_may_only_be_read_is_searched_by_meaning(open_folder: Path) -> None:
    folder = open_folder / "read-only-vectors"
    path = folder / "memories.db"
    async with SqliteStore(path) as store:
        space = await store.vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        await embed_all(store.vectors, space, NORTH)
        await store.add(memory(2))
        assert await nearest(store.vectors, space) == ids(1)
    folder.chmod(0o777)
    path.chmod(0o444)
    output, errors = python(READER, str(path)).communicate()
    assert errors == ""
    assert output.splitlines() == [f"found {UUID(int=1)}", "read-only"]
