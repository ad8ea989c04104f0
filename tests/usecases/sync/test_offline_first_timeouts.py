"""How long a client waits for its server: long enough for a server with a leg that hangs, and no
longer. Both sides are real except for the network between them, on a clock that the test controls.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from tests.recall_contexts import with_walker
from tests.strategies import MOMENT, new_id
from tests.usecases.conftest import TickingClock, build_context
from tests.usecases.legs import Hanging

from recollect.core.admin.timeouts import Timeouts
from recollect.core.memory.links import SUPERSEDES, Link
from recollect.core.memory.memory import Draft
from recollect.core.recall.context import RecallContext
from recollect.core.recall.explain import WhyReport
from recollect.core.recall.request import Declined, LegName, RecallRequest, Recollection
from recollect.usecases.context import Context
from recollect.usecases.service import LocalService
from recollect.usecases.sync.offline_first import OfflineFirstService
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio
DEADLINE_MS = 1_000


@dataclass
class Far:
    """A server whose answers are `seconds` on their way."""

    server: LocalService
    seconds: float

    async def recall(self, request: RecallRequest) -> Recollection:
        answer = await self.server.recall(request)
        await asyncio.sleep(self.seconds)
        return answer

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        return await self.server.why(reference, request)


class NothingWaits:
    """Everything here has been sent."""

    async def unsent_ids(self) -> frozenset[UUID]:
        return frozenset()


class NeverWalking:
    async def prepare(self, context: RecallContext) -> Declined:
        await asyncio.Event().wait()
        return Declined("absent", "never")


def with_one_that_hangs(context: Context, leg: LegName) -> Context:
    if leg == "graph":
        return with_walker(context, NeverWalking())
    return replace(context, legs={**context.legs, leg: Hanging()})


async def client_of(server: Context, seconds: float = 0.0) -> OfflineFirstService:
    """Return a client with nothing of its own, which has copied the server's deadline."""
    store = InMemoryStore()
    local = LocalService(build_context(store), "me")
    await local.change_settings({"deadline_ms": DEADLINE_MS})
    remote = Far(LocalService(server, "me"), seconds)
    return OfflineFirstService(local, remote, store, "me", NothingWaits(), TickingClock())  # type: ignore[arg-type]  # only these are called


@pytest.mark.parametrize("leg", ["dense", "graph"])
async def test_the_answer_of_a_server_with_a_leg_that_hangs_is_waited_for(
    context: Context, leg: LegName
) -> None:
    server = with_one_that_hangs(context, leg)
    owned = LocalService(server, "me")
    memory = await owned.remember(Draft("the harbour"))
    await owned.change_settings({"deadline_ms": DEADLINE_MS})
    client = await client_of(server, seconds=0.3)
    answer = await client.recall(RecallRequest("harbour"))
    assert [hit.memory.id for hit in answer.hits] == [memory.id]
    assert (answer.note, answer.legs[leg].status) == (None, "late")
    assert answer.degraded == (leg,)


async def test_a_server_that_says_nothing_is_given_up_soon_after_the_deadline(
    context: Context,
) -> None:
    client = await client_of(context, seconds=3_600)
    memory = await client.remember(Draft("the harbour"))
    now = asyncio.get_running_loop().time
    begun = now()
    answer = await client.recall(RecallRequest("harbour"))
    assert now() - begun == pytest.approx(DEADLINE_MS / 1000 + 0.5)
    assert [hit.memory.id for hit in answer.hits] == [memory.id]
    assert "the server did not answer in time" in str(answer.note)


@pytest.mark.parametrize("leg", ["dense", "graph"])
async def test_why_waits_once_for_a_leg_that_hangs(context: Context, leg: LegName) -> None:
    """Also for a memory below the depth, for which the other legs are asked again."""
    server = with_one_that_hangs(context, leg)
    owned = LocalService(server, "me")
    await owned.change_settings({"depth": 5})
    for _ in range(6):
        await owned.remember(Draft("harbour harbour", id=new_id()))
    memory = await owned.remember(Draft("harbour and quay and mole and pier and beacon"))
    client = await client_of(server)
    now = asyncio.get_running_loop().time
    begun = now()
    report = await client.why(str(memory.id), RecallRequest("harbour", limit=5))
    assert now() - begun == pytest.approx(Timeouts().why)
    assert report.note is None
    by_leg = {obstacle.leg: obstacle for obstacle in report.kept_out}
    assert by_leg[leg].kind == "leg_late"
    assert by_leg["lexical"].kind == "below_depth"
    assert "depth 7" in by_leg["lexical"].remedy


async def test_a_successor_known_only_here_stands_in_while_it_is_valid(context: Context) -> None:
    end = MOMENT + timedelta(days=1)
    old = await LocalService(context, "me").remember(Draft("the harbour"))
    client = await client_of(context)
    await client.store.add(old)
    link = Link(SUPERSEDES, old.id)
    new = await client.remember(Draft("dredged in May", links=(link,), valid_until=end))

    async def recall_ids(now: datetime) -> list[UUID]:
        answer = await replace(client, clock=TickingClock(now)).recall(RecallRequest("harbour"))
        return [hit.memory.id for hit in answer.hits]

    assert await recall_ids(MOMENT) == [new.id]
    assert await recall_ids(end) == [old.id]
