"""Long texts have a vector for each passage, on every store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, fill, ids, memory
from tests.conformance.stores import (
    EAST,
    NORTH,
    SOUTH,
    SPACE,
    FullStore,
    Place,
    Vectors,
    embed_all,
    nearest,
    opened,
    rows,
)
from tests.strategies import MOMENT

from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.background import gain_by_chance
from recollect.core.recall.passages import PassageVector
from recollect.core.recall.space import StoredSpace
from recollect.core.text.passages import Span
from recollect.ports.recall import VectorQuery

pytestmark = pytest.mark.anyio

WEST = [0.0, -1.0]
# Less near than NORTH: among equally near passages an index may return any.
NEARLY_NORTH = [0.96, 0.28]


async def embed_long(
    vectors: Vectors, space: StoredSpace, directions: Sequence[Sequence[float]]
) -> None:
    """Do every job; each text gets a passage of ten characters for each direction."""
    parts = [
        PassageVector(Span(10 * number, 10 * number + 10), vector)
        for number, vector in enumerate(directions)
    ]
    while jobs := await vectors.claim(space, 100):
        done = [(job, directions[0]) for job in jobs]
        assert await vectors.finish(space, done, dict.fromkeys(jobs, parts)) == len(jobs)
    await vectors.build_indexes(space)


async def count_vectors(store: FullStore) -> int:
    return len(await rows(store, "select passage from embeddings where vector is not null"))


@pytest.mark.parametrize("query", [NORTH, EAST, SOUTH], ids=["start", "middle", "end"])
async def test_a_long_text_is_found_by_each_passage(place: Place, query: list[float]) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed_long(vectors, space, [NORTH, EAST, SOUTH])
        await fill(store, memory(2))
        await embed_all(vectors, space, WEST)
        (found, *_) = await vectors.nearest(OWNER, EVERYWHERE, VectorQuery(space, query))
        assert found.id == ids(1)[0]
        assert found.score == pytest.approx(1.0, abs=1e-3)
        start = 10 * [NORTH, EAST, SOUTH].index(query)
        assert found.passage == Span(start, start + 10)


async def test_each_memory_is_found_once_and_none_is_lost(place: Place) -> None:
    """Many near passages of few texts do not push other memories out."""
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed_long(vectors, space, [NORTH] * 40)
        await fill(store, memory(2))
        await embed_long(vectors, space, [NEARLY_NORTH] * 40)
        await fill(store, *(memory(number) for number in (3, 4, 5)))
        await embed_all(vectors, space, EAST)
        for depth in (1, 2, 3, 5, 50):
            assert await nearest(vectors, space, depth=depth) == ids(1, 2, 3, 4, 5)[:depth]
        excluded = await nearest(vectors, space, exclude=frozenset(ids(1)))
        assert excluded == ids(2, 3, 4, 5)


async def test_the_best_of_many_passages_counts_without_what_it_gains_by_chance(
    place: Place,
) -> None:
    """Of three near texts, the shortest is first; where chance gains nothing, the nearest."""
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        for number, passages in ((1, 30), (2, 3)):
            await fill(store, memory(number))
            await embed_long(vectors, space, [EAST] * (passages - 1) + [NORTH])
        await fill(store, memory(3))
        await embed_all(vectors, space, NEARLY_NORTH)
        for spread, expected in ((0.0, ids(1, 2, 3)), (0.1, ids(3, 2, 1))):
            query = VectorQuery(space, NORTH, spread=spread)
            found = await vectors.nearest(OWNER, EVERYWHERE, query)
            assert [candidate.id for candidate in found] == expected
            scores = {candidate.id: candidate.score for candidate in found}
            gained = [spread * gain_by_chance(passages) for passages in (30, 3)]
            wanted = dict(zip(ids(1, 2, 3), [1.0 - gained[0], 1.0 - gained[1], 0.96], strict=True))
            assert scores == pytest.approx(wanted, abs=2e-3)
            assert found[expected.index(ids(2)[0])].passage == Span(20, 30)


async def test_long_texts_do_not_crowd_out_a_short_one(place: Place) -> None:
    """However many passages are nearer, and whichever memories are in scope."""
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, *(memory(number) for number in range(1, 9)))
        await embed_long(vectors, space, [NORTH] * 40)
        await fill(store, memory(9), memory(10, project="atlas"))
        await embed_all(vectors, space, NEARLY_NORTH)
        for scope, expected in ((EVERYWHERE, ids(9, 10)), (Scope(project="atlas"), ids(10))):
            query = VectorQuery(space, NORTH, spread=0.1, depth=len(expected))
            found = await vectors.nearest(OWNER, scope, query)
            assert [candidate.id for candidate in found] == expected


async def test_a_changed_number_of_passages_counts_at_once(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed_long(vectors, space, [NORTH] * 30)
        await fill(store, memory(2))
        await embed_all(vectors, space, NEARLY_NORTH)
        query = VectorQuery(space, NORTH, spread=0.1)
        assert (await vectors.nearest(OWNER, EVERYWHERE, query))[0].id == ids(2)[0]
        await store.replace(memory(1, "other words", version=2), based_on=1)
        await embed_all(vectors, space, NORTH)
        assert (await vectors.nearest(OWNER, EVERYWHERE, query))[0].id == ids(1)[0]


async def test_a_text_of_one_passage_has_one_row_and_no_position(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed_all(vectors, space)
        assert await count_vectors(store) == 1
        (found,) = await vectors.nearest(OWNER, EVERYWHERE, VectorQuery(space, NORTH))
        assert found.passage is None


@pytest.mark.parametrize(
    "change",
    [
        {"content": "other words"},
        {"is_sensitive": True},
        {"deleted_at": MOMENT},
    ],
    ids=["changed", "sensitive", "forgotten"],
)
async def test_no_passage_outlives_its_text(place: Place, change: dict[str, Any]) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed_long(vectors, space, [NORTH, EAST, SOUTH])
        assert await count_vectors(store) == 3
        await store.replace(replace(memory(1), version=2, **change), based_on=1)
        assert await count_vectors(store) == 0
        assert await nearest(vectors, space) == []


async def test_no_passage_outlives_an_erasure(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed_long(vectors, space, [NORTH, EAST, SOUTH])
        await rows(store, "delete from memories where owner = %s", OWNER)
        assert await count_vectors(store) == 0
        assert await nearest(vectors, space) == []


async def test_passages_of_a_changed_text_are_refused(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        (job,) = await vectors.claim(space, 1)
        await store.replace(memory(1, "other words", version=2), based_on=1)
        parts = [PassageVector(Span(0, 5), NORTH), PassageVector(Span(5, 9), EAST)]
        assert await vectors.finish(space, [(job, NORTH)], {job: parts}) == 0
        assert await count_vectors(store) == 0


async def test_progress_and_gap_count_memories(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1), memory(2))
        await embed_long(vectors, space, [NORTH, EAST, SOUTH])
        progress = await vectors.progress(space)
        assert (progress.embedded, progress.waiting) == (2, 0)
        other = await vectors.open_space("compass 2", replace(SPACE, revision="2"))
        assert (await vectors.gap(other)).missing == 2
        await embed_long(vectors, other, [EAST, SOUTH])
        assert (await vectors.gap(other)).missing == 0
        await vectors.activate(other)
        assert await nearest(vectors, other, EAST) == ids(1, 2)
        back = await vectors.open_space("compass", SPACE)
        assert (await vectors.gap(back)).missing == 0
        await vectors.activate(back)
        assert await nearest(vectors, back) == ids(1, 2)
        await vectors.drop_space(other)
        assert await count_vectors(store) == 6


async def test_passages_stay_in_their_scope(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        mine = [memory(1, project="atlas"), memory(2, tags=("x",)), memory(3, owner="bob")]
        await fill(store, *mine)
        await embed_long(vectors, space, [NORTH, EAST, SOUTH])
        assert await nearest(vectors, space, EAST, Scope(project="atlas")) == ids(1)
        assert await nearest(vectors, space, EAST, Scope(tags=("x",))) == ids(2)
        assert await nearest(vectors, space, EAST) == ids(1, 2)
        assert await nearest(vectors, space, EAST, owner="bob") == [UUID(int=3)]
