"""Turns embedded with those before them: whose words a vector holds, and that they go in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
import pytest
from tests.adapters.vectors import NORTH, SPACE, embed_all, opened, rows
from tests.conformance.samples import OWNER, ids, memory
from tests.strategies import new_id

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.index import PostgresVectors
from recollect.core.errors import StoreError
from recollect.core.memory.memory import EPISODE, Limits, Memory
from recollect.core.recall.space import EmbeddingJob, StoredSpace, context_of
from recollect.core.sync.decide import decide
from recollect.core.sync.model import Outgoing

pytestmark = pytest.mark.anyio

_EMBEDDED: LiteralString = "select memory_id from embeddings where vector is not null"
_HELD: LiteralString = "select memory_id, before_id from embedding_context order by 1, 2"
LONG = "x" * 301


def turn(number: int, content: str, **fields: Any) -> Memory:
    return memory(number, content, **{"category": EPISODE, "session": "chat", **fields})


@pytest.mark.parametrize(
    ("said", "before", "kept"),
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
    said: str, before: list[str], kept: list[str]
) -> None:
    assert list(context_of(said, before)) == kept


Talk = Callable[[PostgresStore, PostgresVectors, StoredSpace], Awaitable[None]]


async def talking(url: str, turns: list[Memory], then: Talk) -> None:
    async with opened(url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        for said in turns:
            await store.add(said)
        await then(store, vectors, space)


async def claimed(vectors: PostgresVectors, space: StoredSpace) -> dict[int, EmbeddingJob]:
    return {job.memory_id.int: job for job in await vectors.claim(space, 100)}


async def test_a_turn_is_read_with_the_two_before_it(emptied_database_url: str) -> None:
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

    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        jobs = await claimed(vectors, space)
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
        assert len(await rows(store, _HELD)) == 2

    await talking(emptied_database_url, turns, then)


CHANGES: dict[str, LiteralString] = {
    "edited": "update memories set content = 'other words' where id = %s",
    "made sensitive": "update memories set is_sensitive = true where id = %s",
    "forgotten": "update memories set deleted_at = now() where id = %s",
    "moved": "update memories set session = 'elsewhere' where id = %s",
    "moved to a project": "update memories set project = 'elsewhere' where id = %s",
    "no turn any more": "update memories set category = 'fact' where id = %s",
    "erased": "delete from memories where id = %s",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_words_that_are_changed_leave_every_vector_at_once(
    emptied_database_url: str, change: str
) -> None:
    turns = [turn(1, "which port?"), turn(2, "7443"), turn(3, "thanks"), turn(4, "bye")]

    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        assert await embed_all(vectors, space) == 4
        await rows(store, CHANGES[change], ids(2)[0])
        embedded = {row["memory_id"] for row in await rows(store, _EMBEDDED)}
        assert embedded == {ids(1)[0]}, "the two after it held its words"
        assert not [row for row in await rows(store, _HELD) if row["before_id"] == ids(2)[0]]
        jobs = await claimed(vectors, space)
        assert {3, 4} <= jobs.keys()
        assert all("7443" not in job.text for number, job in jobs.items() if number > 2)
        await vectors.finish(space, [(job, NORTH) for job in jobs.values()])
        assert await vectors.claim(space, 100) == []

    await talking(emptied_database_url, turns, then)


@pytest.mark.parametrize("change", CHANGES)
async def test_finish_drops_a_vector_of_changed_context(
    emptied_database_url: str, change: str
) -> None:
    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        jobs = await claimed(vectors, space)
        assert jobs[2].text == "7443\nwhich port?"
        await rows(store, CHANGES[change], ids(1)[0])
        assert await vectors.finish(space, [(jobs[2], NORTH)]) == 0
        again = await claimed(vectors, space)
        assert "which port?" not in again[2].text
        assert await vectors.finish(space, [(again[2], NORTH)]) == 1

    await talking(emptied_database_url, [turn(1, "which port?"), turn(2, "7443")], then)


async def test_postgres_itself_refuses_to_leave_such_a_vector_behind(
    emptied_database_url: str,
) -> None:
    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        await embed_all(vectors, space)
        # As the owner of the tables, and past the trigger.
        with psycopg.connect(emptied_database_url, autocommit=True) as plain:
            plain.execute("alter table memories disable trigger embeddings_context_changed")
            try:
                with pytest.raises(psycopg.errors.ForeignKeyViolation, match="context"):
                    plain.execute(CHANGES["made sensitive"], ids(1))
            finally:
                plain.execute("alter table memories enable trigger embeddings_context_changed")
            with pytest.raises(psycopg.errors.ForeignKeyViolation):
                plain.execute(
                    "insert into embedding_context (owner, space_id, memory_id, before_id)"
                    " values (%s, %s, %s, %s)",
                    (OWNER, space.id, ids(2)[0], ids(3)[0]),
                )

    turns = [turn(1, "which port?"), turn(2, "7443"), turn(3, "hidden", is_sensitive=True)]
    await talking(emptied_database_url, turns, then)


async def test_claim_does_not_wait_for_a_turn_that_is_being_changed(
    emptied_database_url: str,
) -> None:
    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        with psycopg.connect(emptied_database_url) as editor:
            editor.execute(CHANGES["edited"], ids(1))
            jobs = await claimed(vectors, space)
            assert jobs[2].text == "7443", "what is being changed is left out"
            editor.commit()
        assert await vectors.finish(space, [(jobs[2], NORTH)]) == 1

    await talking(emptied_database_url, [turn(1, "which port?"), turn(2, "7443")], then)


async def test_a_whole_conversation_can_be_erased(emptied_database_url: str) -> None:
    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        await embed_all(vectors, space)
        await rows(store, "delete from memories where owner = %s", OWNER)
        assert await rows(store, _HELD) == []
        assert await rows(store, _EMBEDDED) == []

    await talking(emptied_database_url, [turn(n, f"turn {n}") for n in range(1, 9)], then)


async def test_edits_and_claims_do_not_deadlock(emptied_database_url: str) -> None:
    """Turns are edited and moved while workers claim and finish them: nobody is refused."""

    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
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
        await rows(store, "update embeddings set due_at = now() where vector is null")
        await embed_all(vectors, space)
        assert len(await rows(store, _EMBEDDED)) == 8

    await talking(emptied_database_url, [turn(n, f"turn {n}") for n in range(1, 9)], then)


async def test_a_push_and_an_edit_do_not_deadlock(emptied_database_url: str) -> None:
    """A push holds the owner's lock after its first write, and has more turns to write."""

    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        await embed_all(vectors, space)
        now = datetime.now(UTC)

        async def push(first: int) -> None:
            added = Outgoing(
                new_id(), uuid4(), 0, 1, {"content": "f", "category": "fact"}, now, now
            )
            items = [added]
            for number in (first, first + 1):
                one = await store.get(OWNER, ids(number)[0])
                assert one is not None
                fields = {"content": f"pushed {number}"}
                items.append(
                    Outgoing(one.id, uuid4(), one.version, one.version + 1, fields, now, now)
                )
            await store.changes.apply(
                OWNER, uuid4(), items, lambda item, there: decide(OWNER, item, there, Limits(), now)
            )

        async def edit(number: int) -> None:
            one = await store.get(OWNER, ids(number)[0])
            assert one is not None
            changed = replace(one, content=f"edited {number}", version=one.version + 1)
            await store.replace(changed, based_on=one.version)

        for _ in range(4):
            await asyncio.gather(
                *(edit(number) for number in range(1, 9)), *(push(first) for first in (1, 3, 5, 7))
            )
        await embed_all(vectors, space)
        assert len(await rows(store, _EMBEDDED)) == 8 + 16

    turns = [turn(n, f"turn {n}", session="one" if n % 2 else "two") for n in range(1, 9)]
    await talking(emptied_database_url, turns, then)


async def test_erase_owner_waits_for_edits_only(
    emptied_database_url: str,
) -> None:
    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        await embed_all(vectors, space)

        async def edit(number: int) -> None:
            one = await store.get(OWNER, ids(number)[0])
            if one is not None:
                changed = replace(one, content=f"edited {number}", version=one.version + 1)
                await store.replace(changed, based_on=one.version)

        await asyncio.gather(
            *(edit(number) for number in range(1, 301, 7)), store.eraser.erase_owner(OWNER)
        )
        assert await rows(store, _HELD) == []

    turns = [turn(n, f"turn {n}", session=f"chat {n // 3}") for n in range(1, 301)]
    await talking(emptied_database_url, turns, then)
