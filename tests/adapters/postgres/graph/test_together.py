"""Several workers on one concept graph: none of them fails for what another one does."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from tests.adapters.graphs import concept, memory, read_as, stated
from tests.adapters.vectors import EAST, NORTH, SPACE, opened, rows
from tests.conformance.samples import OWNER, fill
from tests.waiting import wait_until

from recollect.adapters.postgres.graph.merge_split import merge

pytestmark = pytest.mark.anyio

_WAITS = """
select 1 from pg_stat_activity where datname = current_database()
    and application_name = 'recollect' and wait_event_type = 'Lock'
"""


async def test_a_name_that_another_worker_merges_away_meanwhile_gets_no_vector(
    emptied_database_url: str,
) -> None:
    async with (
        opened(emptied_database_url) as (store, vectors),
        await psycopg.AsyncConnection.connect(
            emptied_database_url, row_factory=psycopg.rows.dict_row
        ) as other,
    ):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await read_as(store, {1: stated(("Mont Blanc", "is", "Mount Blanc"))})
        stays, goes = await concept(store, "Mont Blanc"), await concept(store, "Mount Blanc")
        assert stays is not None
        assert goes is not None
        await store.graph.keep_vectors(space, [(stays, NORTH)])  # makes the index

        assert await merge(other, OWNER, stays, goes, by_hand=False)
        keeping = asyncio.create_task(
            store.graph.keep_vectors(space, [(goes, EAST), (stays, NORTH)])
        )
        with psycopg.connect(emptied_database_url, autocommit=True) as looking:
            await asyncio.to_thread(
                wait_until, lambda: keeping.done() or looking.execute(_WAITS).fetchone()
            )
        await other.commit()
        await keeping
        kept = await rows(store, "select concept_id from concept_vectors")
        assert kept == [{"concept_id": stays}]
