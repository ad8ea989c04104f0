"""Two projects may have a session of the same name: no vector holds turns of both."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import LiteralString

import psycopg
import pytest
from tests.conformance.samples import OWNER, ids
from tests.conformance.stores import embed_all
from tests.conformance.vectors.test_context import claim_by_number, store_turns, turn
from tests.conformance.vectors.test_context_projects import get_texts
from tests.waiting import wait_until

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.recall.space import StoredSpace

pytestmark = pytest.mark.anyio

_WAITING: LiteralString = "select memory_id from embeddings where vector is null order by 1"
_MOVE: LiteralString = "update memories set project = %s where id = %s"
_WAITS: LiteralString = """
select pid from pg_stat_activity
where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0
"""
_SHORT = "x" * 300


async def test_moving_turns_and_editing_the_next_one_do_not_deadlock(
    emptied_database_url: str,
) -> None:
    """Each vector is written only once: for a second write Postgres would look at its memory."""
    turns = [turn(1, "a"), turn(2, "b"), turn(3, "c", project="red")]

    async def then(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> None:
        assert await embed_all(vectors, space) == 3
        one = await store.get(OWNER, ids(3)[0])
        assert one is not None
        edited = replace(one, content="edited", version=one.version + 1)
        with psycopg.connect(emptied_database_url) as mover:
            mover.execute(_MOVE, ("red", ids(1)[0]))
            editing = asyncio.create_task(store.replace(edited, based_on=one.version))
            with psycopg.connect(emptied_database_url, autocommit=True) as watcher:
                await asyncio.to_thread(wait_until, lambda: watcher.execute(_WAITS).fetchall())
            mover.execute(_MOVE, ("red", ids(2)[0]))
            mover.commit()
            assert await editing
        assert get_texts(await claim_by_number(vectors, space)) == {
            1: "a",
            2: "b\na",
            3: "edited\na\nb",
        }

    await store_turns(emptied_database_url, turns, then)
