"""How a recall leads its graph leg: ready beside the others, setting out after them, and ended with
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from recollect.core.errors import StoreError
from recollect.core.graph.walk import Walked
from recollect.core.memory.memory import Draft
from recollect.core.recall.fusion import Fused
from recollect.core.recall.request import Candidate, Declined, RecallRequest, Recollection
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.context import Context
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall

pytestmark = pytest.mark.anyio


@dataclass
class Turning:
    """A walker that turns the fused order around; `ready` when it has made itself ready."""

    ready: asyncio.Event = field(default_factory=asyncio.Event)
    was_ended: bool = False

    async def __call__(
        self,
        owner: str,
        request: RecallRequest,
        settings: RecallSettings,
        weight: float,
        fused: Awaitable[Sequence[Fused]],
    ) -> Sequence[Walked] | Declined:
        self.ready.set()
        try:
            start = await fused
        except asyncio.CancelledError:
            self.was_ended = True
            raise
        return [Walked(one.candidate.id, 1.0 + n) for n, one in enumerate(start)][::-1]


@dataclass
class WaitingFor:
    """A leg that answers when the walker is ready, and like `then`."""

    walker: Turning
    then: Any

    async def __call__(
        self, owner: str, request: RecallRequest, settings: RecallSettings
    ) -> Sequence[Candidate]:
        await self.walker.ready.wait()
        answer: Sequence[Candidate] = await self.then(owner, request, settings)
        return answer


async def failing(*_: object) -> Sequence[Candidate]:
    raise StoreError("gone", remedy="Wait.")


async def ask(context: Context, walker: Turning, **request: Any) -> Recollection:
    for text in ("a harbour", "a harbour by a river"):
        await remember(context, "me", Draft(text))
    leg = WaitingFor(walker, context.legs["lexical"])
    asked = replace(context, walker=walker, legs={"lexical": leg})
    return await recall(asked, "me", RecallRequest(**{"query": "harbour", **request}))


async def test_a_walker_makes_itself_ready_while_the_legs_are_asked(context: Context) -> None:
    answer = await ask(context, Turning())
    assert [hit.memory.content for hit in answer.hits] == ["a harbour by a river", "a harbour"]
    assert answer.legs["graph"].status == "ran"


async def test_a_walker_has_nowhere_to_set_out_from(context: Context) -> None:
    walker = Turning()
    answer = await ask(context, walker, query="mountain")
    assert answer.hits == ()
    assert answer.legs["graph"].status == "skipped"
    await asyncio.sleep(0)
    assert walker.was_ended


async def test_a_walker_ends_with_a_recall_that_fails(context: Context) -> None:
    walker = Turning()
    asked = replace(context, walker=walker, legs={"lexical": WaitingFor(walker, failing)})
    with pytest.raises(StoreError, match="gone"):
        await recall(asked, "me", RecallRequest("harbour"))
    await asyncio.sleep(0)
    assert walker.was_ended


@pytest.mark.parametrize("request_", [{"sort_by": "recency"}, {"weights": {"graph": 0.0}}])
async def test_a_walker_that_is_not_wanted_is_not_asked(
    context: Context, request_: dict[str, Any]
) -> None:
    walker = Turning()
    await remember(context, "me", Draft("a harbour"))
    answer = await recall(
        replace(context, walker=walker), "me", RecallRequest("harbour", **request_)
    )
    assert len(answer.hits) == 1
    assert answer.legs["graph"].status == "skipped"
    assert not walker.ready.is_set()
