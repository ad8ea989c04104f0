"""Turns embedded with those before them: whose words a vector holds, and when it is removed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, LiteralString

import pytest
from tests.conformance.samples import OWNER, ids, memory
from tests.conformance.stores import (
    NORTH,
    SPACE,
    FullStore,
    Place,
    Vectors,
    embed_all,
    embedded,
    held,
    make_due,
    opened,
    rows,
)

from recollect.core.errors import StoreError
from recollect.core.memory.memory import EPISODE, Memory
from recollect.core.recall.space import EmbeddingJob, StoredSpace, context_of

pytestmark = pytest.mark.anyio

LONG = "x" * 301


def turn(number: int, content: str, **fields: Any) -> Memory:
    return memory(number, content, **{"category": EPISODE, "session": "chat", **fields})


@pytest.mark.parametrize(
    ("text", "before", "kept"),
    [
        ("d", [], []),
        ("d", ["c"], ["c"]),
        ("d", ["a", "b", "c"], ["b", "c"]),
        ("d", ["a", LONG], []),
        ("d", [LONG, "c"], ["c"]),
        (LONG, ["b", "c"], []),
    ],
)
def test_the_short_ones_just_before_a_short_one_count(
    text: str, before: list[str], kept: list[str]
) -> None:
    assert list(context_of(text, before)) == kept


Talk = Callable[[Any, Any, StoredSpace], Awaitable[None]]


async def store_turns(place: Place, turns: list[Memory], then: Talk) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        for each in turns:
            await store.add(each)
        await then(store, vectors, space)


async def claim_by_number(vectors: Vectors, space: StoredSpace) -> dict[int, EmbeddingJob]:
    return {job.memory_id.int: job for job in await vectors.claim(space, 100)}


async def test_a_turn_is_read_with_the_two_before_it(place: Place) -> None:
    turns = [
        turn(1, "which port?"),
        turn(2, "elsewhere", session="other"),
        turn(3, "a fact", category="fact"),
        turn(4, "7443"),
        turn(5, "hidden", is_sensitive=True),
        turn(6, "thanks"),
        turn(7, "bye", owner="bob"),
        turn(8, LONG),
        turn(9, "sorry"),
    ]

    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        jobs = await claim_by_number(vectors, space)
        assert {number: job.text for number, job in jobs.items()} == {
            1: "which port?",
            2: "elsewhere",
            3: "a fact",
            4: "7443\nwhich port?",
            6: "thanks\n7443",
            7: "bye",
            8: LONG,
            9: "sorry",
        }
        assert len(await held(store)) == 2

    await store_turns(place, turns, then)


CHANGES: dict[str, LiteralString] = {
    "edited": "update memories set content = 'other words' where id = %s",
    "made sensitive": "update memories set is_sensitive = true where id = %s",
    "forgotten": "update memories set deleted_at = updated_at where id = %s",
    "moved": "update memories set session = 'elsewhere' where id = %s",
    "moved to a project": "update memories set project = 'elsewhere' where id = %s",
    "no turn any more": "update memories set category = 'fact' where id = %s",
    "erased": "delete from memories where id = %s",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_words_that_are_changed_leave_every_vector_at_once(place: Place, change: str) -> None:
    turns = [turn(1, "which port?"), turn(2, "7443"), turn(3, "thanks"), turn(4, "bye")]

    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        assert await embed_all(vectors, space) == 4
        await rows(store, CHANGES[change], ids(2)[0])
        assert await embedded(store) == {1}, "the two after it held its words"
        assert 2 not in {before for _, before in await held(store)}
        jobs = await claim_by_number(vectors, space)
        assert {3, 4} <= jobs.keys()
        assert all("7443" not in job.text for number, job in jobs.items() if number > 2)
        await vectors.finish(space, [(job, NORTH) for job in jobs.values()])
        assert await vectors.claim(space, 100) == []

    await store_turns(place, turns, then)


@pytest.mark.parametrize("change", CHANGES)
async def test_finish_drops_a_vector_of_changed_context(place: Place, change: str) -> None:
    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        jobs = await claim_by_number(vectors, space)
        assert jobs[2].text == "7443\nwhich port?"
        await rows(store, CHANGES[change], ids(1)[0])
        assert await vectors.finish(space, [(jobs[2], NORTH)]) == 0
        again = await claim_by_number(vectors, space)
        assert "which port?" not in again[2].text
        assert await vectors.finish(space, [(again[2], NORTH)]) == 1

    await store_turns(place, [turn(1, "which port?"), turn(2, "7443")], then)


async def test_a_whole_conversation_can_be_erased(place: Place) -> None:
    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        await embed_all(vectors, space)
        await rows(store, "delete from memories where owner = %s", OWNER)
        assert await held(store) == []
        assert await embedded(store) == set()

    await store_turns(place, [turn(n, f"turn {n}") for n in range(1, 9)], then)


async def test_edits_and_claims_do_not_deadlock(place: Place) -> None:
    """Turns are edited and moved while workers claim and finish them: no operation is rejected."""

    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        async def edit(number: int) -> None:
            for round in range(6):
                current = await store.get(OWNER, ids(number)[0])
                assert current is not None
                changed = replace(
                    current,
                    content=f"turn {number}, {round // 2}",
                    project="red" if round % 2 else None,
                    version=current.version + 1,
                )
                assert await store.replace(changed, based_on=current.version)

        async def work() -> None:
            for _ in range(12):
                jobs = await vectors.claim(space, 5)
                await vectors.finish(space, [(job, NORTH) for job in jobs])

        try:
            await asyncio.gather(*(edit(number) for number in range(1, 9)), work(), work())
        except StoreError as error:
            pytest.fail(f"{error}")
        await make_due(store)
        await embed_all(vectors, space)
        assert len(await embedded(store)) == 8

    await store_turns(place, [turn(n, f"turn {n}") for n in range(1, 9)], then)
