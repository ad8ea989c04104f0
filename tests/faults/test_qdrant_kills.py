"""A process that is killed between a row in Postgres and its vector in Qdrant, at every step:
nothing wrong is served meanwhile, and in the end Qdrant has exactly what Postgres has.

Postgres, the processes and the signals are real; Qdrant is its embedded engine behind HTTP.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, ids, memory
from tests.conformance.stores import NORTH, SPACE, embed_all, nearest
from tests.effort import sample
from tests.processes import program
from tests.qdrant_loopback import QdrantServer

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.qdrant.engine import MissingCollection, Qdrant, connect
from recollect.adapters.qdrant.vectors import QdrantVectors
from recollect.core.errors import StoreBusy, StoreUnavailable
from recollect.core.memory.memory import Scope

pytestmark = pytest.mark.anyio

# Does one thing, stops at a step, reports it, and waits to be killed.
CHILD = """
import asyncio, sys
from dataclasses import replace
from functools import partial
from uuid import UUID
from recollect.adapters.postgres.pool import Pool
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.adapters.qdrant.engine import Qdrant, connect
from recollect.adapters.qdrant.vectors import QdrantVectors
from tests.conformance.stores import NORTH, SPACE, embed_all
from tests.conformance.samples import OWNER
from tests.strategies import MOMENT

url, qdrant_url, action, step, moment = sys.argv[1:]
OWNERS = {"finish": PostgresVectors, "drain": QdrantVectors, "drop_collection": QdrantVectors}

def stop_at(kind, name):
    real = getattr(kind, name)
    async def stopped(*arguments):
        if moment == "after":
            await real(*arguments)
        print("here", flush=True)
        await asyncio.Event().wait()
    setattr(kind, name, stopped)

async def act(store, vectors):
    if action == "embed":
        await embed_all(vectors, await vectors.open_space("compass", SPACE))
    elif action == "drop":
        other = await vectors.open_space("other", replace(SPACE, revision="2"))
        await embed_all(vectors, other)
        await vectors.activate(other)
        stop_at(OWNERS.get(step, Qdrant), step)
        await vectors.drop_space((await vectors.spaces())[0])
    elif action == "erase":
        await store.erase(OWNER, UUID(int=2))
    else:
        current = await store.get(OWNER, UUID(int=2))
        changes = {
            "forget": {"deleted_at": MOMENT},
            "edit": {"content": "other words"},
            "hide": {"is_sensitive": True},
            "move": {"project": "elsewhere"},
        }
        changed = replace(current, version=current.version + 1, **changes[action])
        assert await store.replace(changed, based_on=current.version)
    await vectors.drain()

async def main():
    if action != "drop":
        stop_at(OWNERS.get(step, Qdrant), step)
    engine = connect(qdrant_url, None)
    async with PostgresStore(url, vectors=partial(QdrantVectors, engine=engine)) as store:
        await act(store, store.vectors)

asyncio.run(main())
"""


@pytest.fixture
async def qdrant(tmp_path: Path) -> AsyncIterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as server:
        yield server


@pytest.fixture
async def engine(qdrant: QdrantServer) -> AsyncIterator[Qdrant]:
    opened = connect(qdrant.url, None)
    yield opened
    await opened.close()


def kill_at(url: str, qdrant: QdrantServer, action: str, step: str, moment: str) -> None:
    with subprocess.Popen(
        program(CHILD, url, qdrant.url, action, step, moment),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGKILL)


def open_store(url: str, engine: Qdrant) -> PostgresStore:
    return PostgresStore(url, vectors=partial(QdrantVectors, engine=engine))


def vectors_of(store: PostgresStore) -> QdrantVectors:
    assert isinstance(store.vectors, QdrantVectors)
    return store.vectors


async def drain(vectors: QdrantVectors) -> None:
    while await vectors.drain():
        pass
    assert await vectors.unsent() == 0


def known_to(qdrant: QdrantServer) -> list[UUID]:
    return sorted(UUID(point["memory"]) for point in qdrant.points())


STEPS = [
    ("finish", "after"),
    ("exists", "before"),
    ("create", "before"),
    ("create", "after"),
    ("write", "before"),
    ("write", "after"),
]


@pytest.mark.parametrize(("step", "moment"), sample(STEPS))
async def test_a_kill_while_vectors_are_written_loses_none(
    database_url: str, qdrant: QdrantServer, engine: Qdrant, step: str, moment: str
) -> None:
    async with open_store(database_url, engine) as store:
        await store.add_many([memory(1), memory(2), memory(3)])
    kill_at(database_url, qdrant, "embed", step, moment)
    async with open_store(database_url, engine) as store:
        vectors = vectors_of(store)
        space = await vectors.open_space("compass", SPACE)
        await embed_all(vectors, space)
        await drain(vectors)
        assert await nearest(vectors, space) == ids(1, 2, 3)
    assert known_to(qdrant) == ids(1, 2, 3)
    assert len(qdrant.collections) == 1


@pytest.mark.parametrize("action", sample(["erase", "forget", "edit", "hide", "move"]))
@pytest.mark.parametrize(("step", "moment"), sample([("drain", "before"), *STEPS[-2:]]))
async def test_a_kill_after_a_change_serves_nothing_outdated(
    database_url: str, qdrant: QdrantServer, engine: Qdrant, action: str, step: str, moment: str
) -> None:
    async with open_store(database_url, engine) as store:
        await store.add_many([memory(1), memory(2), memory(3)])
        vectors = vectors_of(store)
        space = await vectors.open_space("compass", SPACE)
        await embed_all(vectors, space)
        assert known_to(qdrant) == ids(1, 2, 3)
    kill_at(database_url, qdrant, action, step, moment)
    async with open_store(database_url, engine) as store:
        vectors = vectors_of(store)
        there = Scope(project="elsewhere") if action == "move" else Scope()
        expected = ids(2) if action == "move" else ids(1, 3)
        assert await nearest(vectors, space, scope=there) == expected, "before anything is sent"
        assert await nearest(vectors, space, scope=Scope(with_global=True)) == ids(1, 3)
        await drain(vectors)
        assert await nearest(vectors, space, scope=there) == expected
        assert known_to(qdrant) == (ids(1, 2, 3) if action == "move" else ids(1, 3))
        await embed_all(vectors, space)
        assert known_to(qdrant) == (ids(1, 2, 3) if action in ("move", "edit") else ids(1, 3))


@pytest.mark.parametrize(
    ("step", "moment"),
    sample(
        [
            ("drop_collection", "before"),
            ("drop_collection", "after"),
            ("drop", "before"),
            ("drop", "after"),
        ]
    ),
)
async def test_a_kill_while_a_space_is_dropped_leaves_no_collection(
    database_url: str, qdrant: QdrantServer, engine: Qdrant, step: str, moment: str
) -> None:
    async with open_store(database_url, engine) as store:
        await store.add_many([memory(1), memory(2)])
        vectors = vectors_of(store)
        await embed_all(vectors, await vectors.open_space("compass", SPACE))
    kill_at(database_url, qdrant, "drop", step, moment)
    async with open_store(database_url, engine) as store:
        vectors = vectors_of(store)
        for space in await vectors.spaces():
            if space.state != "active":
                await vectors.drop_space(space)
        await drain(vectors)
        (active,) = await vectors.spaces()
        assert await nearest(vectors, active) == ids(1, 2)
    assert len(qdrant.collections) == 1
    assert known_to(qdrant) == ids(1, 2)


async def test_a_qdrant_that_lost_everything_is_filled_again(
    database_url: str, qdrant: QdrantServer, engine: Qdrant
) -> None:
    async with open_store(database_url, engine) as store:
        await store.add_many([memory(1), memory(2)])
        vectors = vectors_of(store)
        space = await vectors.open_space("compass", SPACE)
        await embed_all(vectors, space)
        qdrant.lose_everything()
        with pytest.raises(MissingCollection):
            await nearest(vectors, space)
        await drain(vectors)
        assert await nearest(vectors, space) == ids(1, 2)
        (before,) = qdrant.collections
        await vectors.rebuild()
        await drain(vectors)
        assert await nearest(vectors, space) == ids(1, 2)
        assert before not in qdrant.collections
        assert len(qdrant.collections) == 1


async def test_writes_are_kept_while_qdrant_fails(
    database_url: str, qdrant: QdrantServer, engine: Qdrant
) -> None:
    async with open_store(database_url, engine) as store:
        vectors = vectors_of(store)
        space = await vectors.open_space("compass", SPACE)
        qdrant.is_failing = True
        await store.add_many([memory(1), memory(2)])
        (first, second) = await vectors.claim(space, 10)
        assert await vectors.finish(space, [(first, NORTH), (second, NORTH)]) == 2
        with pytest.raises(StoreBusy):
            await nearest(vectors, space)
        with pytest.raises(StoreBusy):
            await vectors.drain()
        assert await vectors.unsent() == await vectors.unsent(OWNER) == 2
        qdrant.is_failing = False
        assert await nearest(vectors, space) == ids(1, 2), (
            "vectors that are not sent yet are compared"
        )
        await drain(vectors)
        assert known_to(qdrant) == ids(1, 2)
        assert "has 2 vectors" in await vectors.describe()
    with pytest.raises(StoreUnavailable):
        await connect("http://127.0.0.1:9", None).version()


async def test_hits_that_postgres_does_not_confirm_are_replaced(
    database_url: str, qdrant: QdrantServer, engine: Qdrant
) -> None:
    """Qdrant still has vectors of memories that are gone, and more than were fetched at first."""
    async with open_store(database_url, engine) as store:
        vectors = vectors_of(store)
        await store.add_many([memory(number) for number in range(1, 31)])
        space = await vectors.open_space("compass", SPACE)
        await embed_all(vectors, space)
        for number in range(1, 29):
            await store.erase(OWNER, UUID(int=number))
        assert len(known_to(qdrant)) == 30
        assert await nearest(vectors, space, depth=2, has_passages=False) == ids(29, 30)
