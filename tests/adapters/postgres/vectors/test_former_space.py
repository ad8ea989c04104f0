"""The former space in Postgres: processes killed in between, and removal during other work."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import psycopg
import pytest
from tests.conformance.samples import ids, memory
from tests.conformance.stores import (
    NORTH,
    SPACE,
    embed_all,
    nearest,
    open_all,
    opened,
    rows,
    states,
)

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.errors import Conflict
from recollect.core.memory.memory import EPISODE
from recollect.core.recall.space import Gap, StoredSpace

pytestmark = pytest.mark.anyio

A, B, C = (replace(SPACE, revision=letter) for letter in "abc")


async def test_remove_some_leaves_a_space_that_became_the_former_one(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        a, b = await open_all(vectors, A, B)
        await store.add(memory(1))
        await embed_all(vectors, a)
        await vectors.give_up(b)
        (b,) = await open_all(vectors, B)
        await embed_all(vectors, b)
        await vectors.activate(b)
        await vectors.activate((await open_all(vectors, A))[0])
        assert await vectors.remove_some(b) is None
        assert await states(vectors) == {"a": "active", "b": "former"}
        assert await nearest(vectors, b) == ids(1)


@pytest.mark.parametrize("state", ["filling", "former"])
async def test_drop_space_refuses_a_space_that_was_opened_again(
    emptied_database_url: str, state: str
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        a, b = await open_all(vectors, A, B)
        await store.add(memory(1))
        await embed_all(vectors, a)
        await vectors.give_up(b)
        (seen,) = [space for space in await vectors.spaces() if space.is_given_up]
        (b,) = await open_all(vectors, B)
        await embed_all(vectors, b)
        if state == "former":
            await vectors.activate(b)
            await vectors.activate((await open_all(vectors, A))[0])
        with pytest.raises(Conflict, match="in use again"):
            await vectors.drop_space(seen)
        assert await states(vectors) == {"a": "active", "b": state}
        assert await nearest(vectors, b) == ids(1)
        if state == "filling":  # who has seen that it is filled can still cancel it
            await vectors.drop_space(b)
            assert await states(vectors) == {"a": "active"}


async def test_postgres_keeps_one_space_the_former_one(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (_, vectors):
        await open_all(vectors, A, B)
    with (
        psycopg.connect(emptied_database_url) as connection,
        pytest.raises(psycopg.errors.UniqueViolation, match="spaces_former"),
    ):
        connection.execute("update spaces set is_former = true")


async def test_a_gap_is_what_the_active_space_knows_and_the_other_does_not(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        a, b = await open_all(vectors, A, B)
        await store.add_many([memory(number) for number in range(1, 7)])
        assert await vectors.gap(b) == Gap(missing=0, failed=0), "neither knows anything"
        await embed(vectors, a, 1, 2, 3, 4)
        assert await vectors.gap(b) == Gap(missing=4, failed=0)
        await embed(vectors, b, 1, 5)  # vectors that only the new one has do not compensate
        assert await vectors.gap(b) == Gap(missing=3, failed=0)
        jobs = {job.memory_id: job for job in await vectors.claim(b, 10)}
        _, two, three, _, _, six = (jobs.get(id) for id in ids(1, 2, 3, 4, 5, 6))
        assert two is not None
        assert three is not None
        assert six is not None
        await vectors.fail(b, [two, six], "ValueError")  # the old one does not have the last
        assert await vectors.gap(b) == Gap(missing=3, failed=1)
        await park(store, b, 3)
        assert await vectors.gap(b) == Gap(missing=3, failed=2)
        await vectors.finish(b, [(three, NORTH), (jobs[ids(4)[0]], NORTH)])
        assert await vectors.gap(b) == Gap(missing=1, failed=1)
        assert await vectors.gap(a) == Gap(missing=0, failed=0)


async def embed(vectors: PostgresVectors, space: StoredSpace, *numbers: int) -> None:
    jobs = await vectors.claim(space, 10)
    wanted = [job for job in jobs if job.memory_id in ids(*numbers)]
    await vectors.finish(space, [(job, NORTH) for job in wanted])
    await vectors.give_back(space, [job for job in jobs if job not in wanted])


async def park(store: PostgresStore, space: StoredSpace, number: int) -> None:
    await rows(
        store,
        "update embeddings set due_at = 'infinity' where space_id = %s and memory_id = %s",
        space.id,
        ids(number)[0],
    )


async def test_drop_space_does_not_wait_for_edits(emptied_database_url: str) -> None:
    """Holding one row, it would wait for an editor who has the next one and waits for the first."""
    async with (
        asyncio.timeout(120),
        opened(emptied_database_url) as (store, vectors),
        await psycopg.AsyncConnection.connect(emptied_database_url) as editor,
    ):
        a, b = await open_all(vectors, A, B)
        turns = [memory(n, f"turn {n}", category=EPISODE, session="s") for n in range(1, 5)]
        await store.add_many(turns)
        await embed_all(vectors, a)
        await embed_all(vectors, b)
        edit = "update memories set content = content || '!' where id = %s"
        await editor.execute(edit, (ids(3)[0],))
        # It holds that turn's rows and those of the next, whose vectors have its words.
        removing = asyncio.create_task(vectors.drop_space(b))
        while await list_remaining(store, b) != ids(3, 4):  # noqa: ASYNC110  # no notification
            await asyncio.sleep(0.01)
        await editor.execute(edit, (ids(1)[0],))
        assert not removing.done()
        await editor.commit()
        await removing
        assert await vectors.spaces() == [a]
        assert await list_remaining(store, b) == []


async def list_remaining(store: PostgresStore, space: StoredSpace) -> Sequence[object]:
    found = await rows(
        store, "select memory_id from embeddings where space_id = %s order by 1", space.id
    )
    return [row["memory_id"] for row in found]
