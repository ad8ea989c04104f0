"""The dense leg: order, scope, outdated vectors, and every row that exists."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, LiteralString
from uuid import UUID

import pytest
from psycopg import AsyncConnection
from tests.conformance.samples import OWNER, ids, memory
from tests.conformance.stores import EAST, NORTH, SOUTH, SPACE, embed_all, embed_as, nearest, opened
from tests.conftest import Cluster
from tests.strategies import MOMENT

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pipeline import Session, execute_many
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors import search
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.space import Space
from recollect.ports.recall import VectorQuery

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["exact", "hnsw"])
def limits(request: pytest.FixtureRequest) -> Limits:
    """Selects each of the two plans, whatever the size of the scope."""
    return Limits() if request.param == "exact" else Limits(exact_rows=-1, index_rows=0)


async def test_cosine_orders_and_ties_go_by_id(emptied_database_url: str, limits: Limits) -> None:
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(number) for number in (1, 2, 3, 4)])
        wanted = dict(zip(ids(1, 2, 3, 4), (SOUTH, [3.0, 3.0], NORTH, NORTH), strict=True))
        await embed_as(vectors, space, wanted)
        found = await vectors.nearest(
            OWNER, EVERYWHERE, VectorQuery(space, [2.0, 0.0], use_index=True)
        )
        assert [hit.id for hit in found] == ids(3, 4, 2, 1)
        assert [hit.score for hit in found] == pytest.approx(
            [1.0, 1.0, math.cos(math.pi / 4), -1.0], abs=1e-3
        )
        assert found[0].created_at == memory(3).created_at
        assert found[0].importance == memory(3).importance


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (EVERYWHERE, (1, 2, 3)),
        (Scope(project="atlas"), (1, 2)),
        (Scope(project="atlas", tags=("x",)), (2,)),
        (Scope(sessions=("s",)), (3,)),
        (Scope(categories=("note",)), (3,)),
        (Scope(since=MOMENT + timedelta(minutes=2)), (2, 3)),
        (Scope(project="nowhere"), ()),
    ],
)
async def test_the_scope_holds(
    emptied_database_url: str, limits: Limits, scope: Scope, expected: tuple[int, ...]
) -> None:
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many(
            [
                memory(1, project="atlas"),
                memory(2, project="atlas", tags=("x",)),
                memory(3, session="s", category="note"),
                memory(4, owner="somebody else"),
                memory(5, deleted_at=MOMENT),
                memory(6, is_sensitive=True),
                memory(7),
            ]
        )
        await embed_all(vectors, space)
        found = await nearest(vectors, space, scope=scope, exclude=frozenset(ids(7)))
        assert found == ids(*expected)


async def test_an_edited_text_has_no_vector_until_it_is_embedded_again(
    emptied_database_url: str, limits: Limits
) -> None:
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1, "old"))
        await embed_all(vectors, space)
        assert await nearest(vectors, space) == ids(1)
        await store.replace(memory(1, "old", importance=0.9, version=2), based_on=1)
        assert await nearest(vectors, space) == ids(1), "the text is the same"
        await store.replace(memory(1, "new", version=3), based_on=2)
        assert await nearest(vectors, space) == []
        assert await embed_all(vectors, space) == 1
        assert await nearest(vectors, space) == ids(1)


async def test_nearest_finds_every_row_that_the_index_cannot_reach(
    emptied_database_url: str,
) -> None:
    """The scope's few vectors are the farthest of all: the index scan gives up before them."""
    limits = Limits(exact_rows=-1, index_rows=0, ef_min=10, ef_per_row=1, max_scan=20)
    draw = random.Random(5)
    near = {UUID(int=n): [1.0, draw.random() / 10, draw.random() / 10] for n in range(1, 1001)}
    far = {UUID(int=n): [-1.0, draw.random(), draw.random()] for n in range(2001, 2013)}
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        space = await vectors.open_space("sphere", Space("sphere", "1", 3))
        await store.add_many(memory(id.int) for id in near)
        await store.add_many(memory(id.int, project="far") for id in far)
        await embed_as(vectors, space, {**near, **far})
        scope = Scope(project="far")
        found = await nearest(vectors, space, [1.0, 0.0, 0.0], scope, depth=10)
        assert len(found) == 10
        everything = await nearest(vectors, space, [1.0, 0.0, 0.0], scope, depth=50)
        assert set(everything) == set(far)
        assert found == everything[:10]
        assert len(await nearest(vectors, space, [1.0, 0.0, 0.0], depth=500)) == 500
        assert len(await nearest(vectors, space, [1.0, 0.0, 0.0], depth=5_000)) == 1_012


async def test_spaces_are_never_mixed(emptied_database_url: str, limits: Limits) -> None:
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        first = await vectors.open_space("compass", SPACE)
        second = await vectors.open_space("compass 2", replace(SPACE, revision="2"))
        await store.add_many([memory(1), memory(2)])
        await embed_as(vectors, first, {UUID(int=1): NORTH, UUID(int=2): EAST})
        (job,) = await vectors.claim(second, 1)
        await vectors.finish(second, [(job, NORTH)])
        assert await nearest(vectors, first) == ids(1, 2)
        assert await nearest(vectors, second) == [job.memory_id]


async def test_store_works_without_pgvector_and_explains_it(
    cluster: Cluster, empty_database_url: str
) -> None:
    cluster.without_vectors(empty_database_url)
    async with PostgresStore(empty_database_url) as store:
        assert store.vectors is None
        assert "create extension vector" in store.vector_note
        await store.add(memory(1, "still found by words"))
        assert await store.get(OWNER, UUID(int=1)) is not None


async def test_comparing_passages_looks_up_the_nearest_memories_only(
    emptied_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the planner's view: it does not compare all memories of the owner with each of the
    nearest.
    """
    plans: list[str] = []

    async def with_plan(
        connection: Session,
        params: Mapping[str, object],
        *statements: LiteralString,
        settings: Mapping[LiteralString, str],
    ) -> list[list[Any]]:
        explained = (f"explain analyze {statement}" for statement in statements)
        found = await execute_many(connection, params, *explained, settings=settings)
        plans.extend("\n".join(line for (line,) in rows) for rows in found)
        return await execute_many(connection, params, *statements, settings=settings)

    draw = random.Random(5)
    vectors_of = {UUID(int=n): [draw.random(), draw.random()] for n in range(1, 3001)}
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many(memory(id.int) for id in vectors_of)
        await embed_as(vectors, space, vectors_of)
        async with await AsyncConnection.connect(emptied_database_url, autocommit=True) as admin:
            await admin.execute("analyze")
        monkeypatch.setattr(search, "execute_many", with_plan)
        query = VectorQuery(space, NORTH, depth=50, has_passages=True)
        for scope in (EVERYWHERE, Scope(since=MOMENT)):
            assert len(await vectors.nearest(OWNER, scope, query)) == 50
    assert len(plans) == 2
    for plan in plans:
        assert "Rows Removed by Join Filter" not in plan, plan
