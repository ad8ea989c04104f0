"""Turns embedded with those before them: whose words a vector holds, and when it is removed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import LiteralString
from uuid import uuid4

import psycopg
import pytest
from tests.conformance.samples import OWNER, ids
from tests.conformance.stores import NORTH, embed_all, rows
from tests.conformance.vectors.test_context import CHANGES, claim_by_number, store_turns, turn
from tests.strategies import new_id

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.memory.memory import Limits
from recollect.core.recall.space import StoredSpace
from recollect.core.sync.decide import decide
from recollect.core.sync.model import Outgoing

pytestmark = pytest.mark.anyio

_EMBEDDED: LiteralString = "select memory_id from embeddings where vector is not null"
_HELD: LiteralString = "select memory_id, before_id from embedding_context order by 1, 2"
LONG = "x" * 301


async def test_postgres_itself_refuses_to_leave_such_a_vector_behind(
    emptied_database_url: str,
) -> None:
    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        await embed_all(vectors, space)
        # As the owner of the tables, bypassing the trigger.
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
    await store_turns(emptied_database_url, turns, then)


async def test_claim_does_not_wait_for_a_turn_that_is_being_changed(
    emptied_database_url: str,
) -> None:
    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        with psycopg.connect(emptied_database_url) as editor:
            editor.execute(CHANGES["edited"], ids(1))
            jobs = await claim_by_number(vectors, space)
            assert jobs[2].text == "7443", "what is being changed is left out"
            editor.commit()
        assert await vectors.finish(space, [(jobs[2], NORTH)]) == 1

    await store_turns(emptied_database_url, [turn(1, "which port?"), turn(2, "7443")], then)


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
    await store_turns(emptied_database_url, turns, then)


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
    await store_turns(emptied_database_url, turns, then)
