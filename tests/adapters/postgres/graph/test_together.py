"""Several workers on one concept graph do not make each other fail."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from tests.conformance.graphs import concept, memory, read_as, stated
from tests.conformance.samples import OWNER, fill
from tests.conformance.stores import EAST, NORTH, SPACE, opened, rows
from tests.waiting import wait_until

from recollect.core.graph.resolution import PendingConcept

pytestmark = pytest.mark.anyio

_WAITING = """
select count(*) from pg_stat_activity where datname = current_database()
    and application_name = 'recollect' and wait_event_type = 'Lock'
"""


async def test_keep_vectors_skips_a_concept_that_is_being_merged_away(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await read_as(store, {1: stated(("Mont Blanc", "is", "Mount Blanc"))})
        stays, goes = await concept(store, "Mont Blanc"), await concept(store, "Mount Blanc")
        assert stays is not None
        assert goes is not None
        kept, gone = (
            PendingConcept(id, OWNER, name, "name")
            for id, name in ((stays, "Mont Blanc"), (goes, "Mount Blanc"))
        )
        await store.graph.keep_vectors(space, [(kept, NORTH)])  # creates the index

        with (
            psycopg.connect(emptied_database_url) as holder,
            psycopg.connect(emptied_database_url, autocommit=True) as observer,
        ):

            def are_waiting(count: int) -> bool:
                return observer.execute(_WAITING).fetchone() == (count,)

            # The last thing that a merge writes: until then it is not committed.
            holder.execute("lock table graph_versions")
            merging = asyncio.create_task(store.graph.merge(OWNER, stays, goes, by_hand=False))
            await asyncio.to_thread(wait_until, lambda: are_waiting(1))
            keeping = asyncio.create_task(
                store.graph.keep_vectors(space, [(gone, EAST), (kept, NORTH)])
            )
            await asyncio.to_thread(wait_until, lambda: keeping.done() or are_waiting(2))
            holder.rollback()
        assert await merging
        await keeping
        left = await rows(store, "select concept_id from concept_vectors")
        assert left == [{"concept_id": stays}]
