"""The dense leg: order, scope, outdated vectors, and every row that exists."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, fill, ids, memory
from tests.conformance.stores import (
    EAST,
    NORTH,
    SOUTH,
    SPACE,
    Place,
    embed_all,
    embed_as,
    nearest,
    opened,
)
from tests.strategies import MOMENT

from recollect.core.errors import ModelUnavailable
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.ports.recall import VectorQuery

pytestmark = pytest.mark.anyio


async def test_cosine_orders_and_ties_go_by_id(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, *(memory(number) for number in (4, 3, 2, 1)))
        wanted = dict(zip(ids(1, 2, 3, 4), (SOUTH, [3.0, 3.0], NORTH, NORTH), strict=True))
        await embed_as(vectors, space, wanted)
        query = VectorQuery(space, [2.0, 0.0])
        found = await vectors.nearest(OWNER, EVERYWHERE, query)
        assert [hit.id for hit in found] == ids(3, 4, 2, 1)
        assert [hit.score for hit in found] == pytest.approx(
            [1.0, 1.0, math.cos(math.pi / 4), -1.0], abs=1e-3
        )
        assert found[0].created_at == memory(3).created_at
        assert found[0].importance == memory(3).importance
        assert await nearest(vectors, space, depth=1) == ids(3), "of equally near ones by id"
        assert await nearest(vectors, space, depth=0) == []


MEMORIES = (
    memory(1, project="atlas"),
    memory(2, project="atlas", tags=("x",)),
    memory(3, session="s", category="note"),
    memory(4, owner="somebody else"),
    memory(5, deleted_at=MOMENT),
    memory(6, is_sensitive=True),
    memory(7),
    memory(8, project="borealis", session="t"),
)
SCOPES: dict[str, tuple[Scope, tuple[int, ...]]] = {
    "everywhere": (EVERYWHERE, (1, 2, 3, 8)),
    "a project": (Scope(project="atlas"), (1, 2)),
    "a project and global": (Scope(project="atlas", with_global=True), (1, 2, 3)),
    "global alone": (Scope(with_global=True), (3,)),
    "a project and a tag": (Scope(project="atlas", tags=("x",)), (2,)),
    "a session": (Scope(sessions=("s",)), (3,)),
    "one of two sessions": (Scope(sessions=("s", "t")), (3, 8)),
    "a category": (Scope(categories=("note",)), (3,)),
    "since": (Scope(since=MOMENT + timedelta(minutes=2)), (2, 3, 8)),
    "until": (Scope(until=MOMENT + timedelta(minutes=2)), (1,)),
    "a project that is not there": (Scope(project="nowhere"), ()),
    "a tag that is not there": (Scope(tags=("nowhere",)), ()),
}


@pytest.mark.parametrize(("scope", "expected"), SCOPES.values(), ids=SCOPES.keys())
async def test_nearest_stays_in_its_scope(
    place: Place, scope: Scope, expected: tuple[int, ...]
) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, *MEMORIES)
        await embed_all(vectors, space)
        found = await nearest(vectors, space, scope=scope, exclude=frozenset(ids(7, 99)))
        assert found == ids(*expected)


async def test_nearest_leaves_out_what_is_not_valid(place: Place) -> None:
    now = Scope(valid_at=MOMENT)
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(
            store,
            memory(1, valid_until=MOMENT),
            memory(2, valid_from=MOMENT + timedelta(seconds=1)),
            memory(3),
            memory(4, tags=("x",), valid_until=MOMENT),
            memory(5, tags=("x",), project="atlas", valid_from=MOMENT),
            memory(6, project="atlas", valid_until=MOMENT),
        )
        await embed_all(vectors, space)
        assert await nearest(vectors, space, scope=now) == ids(3, 5)
        assert await nearest(vectors, space, scope=now, depth=1) == ids(3), "they take no place"
        assert await nearest(vectors, space, scope=replace(now, tags=("x",))) == ids(5)
        assert await nearest(vectors, space, scope=replace(now, project="atlas")) == ids(5)
        assert await nearest(vectors, space) == ids(1, 2, 3, 4, 5, 6)
        await store.replace(memory(1, version=2), based_on=1)
        await store.replace(memory(3, version=2, valid_until=MOMENT), based_on=1)
        assert await nearest(vectors, space, scope=now) == ids(1, 5)


async def test_nearest_follows_a_memory_that_moves(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1, project="atlas"), memory(2, project="atlas"))
        await embed_all(vectors, space)
        assert await nearest(vectors, space, scope=Scope(project="atlas")) == ids(1, 2)
        moved = memory(1, project="borealis", category="note", version=2)
        await store.replace(moved, based_on=1)
        assert await nearest(vectors, space, scope=Scope(project="atlas")) == ids(2)
        assert await nearest(vectors, space, scope=Scope(categories=("note",))) == ids(1)


async def test_nearest_sees_what_another_process_writes(place: Place) -> None:
    async with opened(place) as (store, vectors), opened(place) as (_, other):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1), memory(2))
        await embed_as(vectors, space, {UUID(int=1): NORTH, UUID(int=2): EAST})
        assert await nearest(other, space) == ids(1, 2)
        await fill(store, memory(3), memory(4, owner="eve"))
        await embed_all(vectors, space, SOUTH)
        assert await nearest(other, space) == ids(1, 2, 3)
        assert await nearest(other, space, owner="eve") == ids(4)
        await store.erase(OWNER, UUID(int=2))
        assert await nearest(other, space) == ids(1, 3)
        await store.replace(memory(3, "other words", version=2), based_on=1)
        assert await nearest(other, space) == ids(1)
        await embed_all(vectors, space)
        assert await nearest(other, space) == ids(1, 3)


async def test_an_edited_text_has_no_vector_until_it_is_embedded_again(place: Place) -> None:
    async with opened(place) as (store, vectors):
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


async def test_forgotten_and_erased_memories_leave_no_vector(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1), memory(2), memory(3))
        await embed_all(vectors, space)
        await store.replace(replace(memory(1, version=2), deleted_at=MOMENT), based_on=1)
        await store.erase(OWNER, UUID(int=2))
        assert await nearest(vectors, space) == ids(3)
        assert (await vectors.progress(space)).embedded == 1
        await store.replace(memory(1, version=3), based_on=2)
        assert (await vectors.progress(space)).waiting == 1, "it came back"


async def test_spaces_are_never_mixed(place: Place) -> None:
    async with opened(place) as (store, vectors):
        first = await vectors.open_space("compass", SPACE)
        second = await vectors.open_space("compass 2", replace(SPACE, revision="2"))
        await fill(store, memory(1), memory(2))
        await embed_as(vectors, first, {UUID(int=1): NORTH, UUID(int=2): EAST})
        (job,) = await vectors.claim(second, 1)
        await vectors.finish(second, [(job, NORTH)])
        assert await vectors.finish(first, [(job, NORTH)]) == 0, "a job of another space"
        assert await nearest(vectors, first) == ids(1, 2)
        assert await nearest(vectors, second) == [job.memory_id]


@pytest.mark.parametrize("vector", [[1.0], [1.0, 2.0, 3.0], [0.0, 0.0], [math.nan, 1.0]])
async def test_a_vector_that_does_not_fit_the_space_blames_the_model(
    place: Place, vector: list[float]
) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        jobs = await vectors.claim(space, 1)
        with pytest.raises(ModelUnavailable, match="compass answered with"):
            await vectors.finish(space, [(job, vector) for job in jobs])
        with pytest.raises(ModelUnavailable, match="compass answered with"):
            await nearest(vectors, space, vector)
