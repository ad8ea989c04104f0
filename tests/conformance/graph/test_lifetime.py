"""Memories outside their lifetime are not recalled because the graph leads to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from tests.conformance.graphs import at, memory, read_all
from tests.conformance.samples import OWNER, fill
from tests.conformance.stores import Place, open_store
from tests.recall_contexts import with_walker

from recollect.adapters.walkers.pagerank import PageRank
from recollect.core.recall.request import RecallRequest
from recollect.settings import load
from recollect.usecases.context import Context
from recollect.usecases.recall.recall import recall
from recollect.wiring.context import build_context

pytestmark = pytest.mark.anyio

FAR_AWAY = datetime(2999, 1, 1, tzinfo=UTC)


@pytest.fixture
async def context(place: Place) -> AsyncIterator[Context]:
    """One memory about Verena, who works with Nadia, and three about Nadia, of which one has
    expired and one is not valid yet.
    """
    async with open_store(place) as store:
        await fill(
            store,
            memory(1, "Verena works with Nadia"),
            memory(2, "Nadia keeps bees"),
            memory(3, "Nadia rents a boat", valid_until=at(60)),
            memory(4, "Nadia restores clocks", valid_from=FAR_AWAY),
        )
        await read_all(store)
        async with PageRank(store.graph) as pagerank:
            await pagerank.ready(OWNER)
            yield with_walker(build_context(store, load(timeout_factor=30.0)), pagerank)


async def find_reached(context: Context, **asked: object) -> dict[UUID, tuple[str, ...]]:
    """Return what a recall finds, each memory with the concept that led to it."""
    request = RecallRequest("what about Verena?", **asked)  # type: ignore[arg-type]  # any field
    found = await recall(context, OWNER, request)
    assert found.legs["graph"].status == "ran"
    return {hit.memory.id: hit.legs["graph"].path[-1:] for hit in found.hits}


async def test_the_graph_leads_to_no_memory_outside_its_lifetime(context: Context) -> None:
    assert await find_reached(context) == {UUID(int=1): (), UUID(int=2): ("Nadia",)}


async def test_the_graph_leads_to_what_was_valid_then(context: Context) -> None:
    assert UUID(int=3) in await find_reached(context, as_of=at(30))
    assert UUID(int=3) not in await find_reached(context, as_of=at(90))
