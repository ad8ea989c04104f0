"""What `why` suggests to bring a memory in does bring it in, in every fusion, with and without a
graph, and for an excluded memory: each remedy that names a number is followed, and the recall asked
again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from uuid import UUID

import pytest
from tests.recall_contexts import with_walker
from tests.usecases.conftest import build_context
from tests.usecases.walking import Walking

from recollect.core.memory.memory import Draft, Memory
from recollect.core.recall.context import RecallContext
from recollect.core.recall.fusion import FUSIONS, Fusion
from recollect.core.recall.request import Candidate, LegName, RecallRequest
from recollect.ports.recall import Leg
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.context import Context
from recollect.usecases.memory.change import update
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import why
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio
MEMORIES, ROUNDS, DEPTH_AT_FIRST = 14, 3, 6
LIMIT = re.compile(r"(?:with|and ask with) a limit of (\d+) or more")
DEPTH = re.compile(r"settings set depth (\d+)")


@dataclass
class Listing:
    """A leg that has a score for some of the memories, and obeys scope and depth."""

    memories: Mapping[UUID, Memory]
    scores: Mapping[UUID, float]

    async def __call__(self, context: RecallContext) -> Sequence[Candidate]:
        request = context.request
        found = [
            Candidate(id, score, self.memories[id].importance, self.memories[id].created_at)
            for id, score in self.scores.items()
            if request.scope.covers(self.memories[id]) and id not in request.exclude
        ]
        found.sort(key=lambda candidate: (-candidate.score, candidate.id))
        return found[: context.depth]


async def make_context(
    store: InMemoryStore, random: Random, fusion: Fusion, *, walks: bool
) -> tuple[Context, list[Memory]]:
    context = build_context(store)
    stored = [
        await remember(context, "me", Draft(f"memory {number}", importance=random.random()))
        for number in range(MEMORIES)
    ]
    memories = {memory.id: memory for memory in stored}
    by_words = {id: random.paretovariate(2) for id in random.sample(list(memories), 9)}
    by_meaning = {id: random.uniform(0.1, 0.7) for id in random.sample(list(memories), 12)}
    legs: dict[LegName, Leg] = {
        "lexical": Listing(memories, by_words),
        "dense": Listing(memories, by_meaning),
    }
    await change_settings(context, "me", {"fusion": fusion, "depth": DEPTH_AT_FIRST})
    context = replace(context, legs=legs)
    if walks:
        mentions = {id: random.sample(range(6), 2) for id in memories}
        context = with_walker(context, Walking(mentions))
    return context, stored


async def is_recalled(context: Context, memory: Memory, limit: int) -> bool:
    hits = (await recall(context, "me", RecallRequest("q", limit=limit))).hits
    return memory.id in [hit.memory.id for hit in hits]


async def make_vital(context: Context, memory: Memory) -> Context:
    """Return the same legs and store after setting this memory's importance to the maximum."""
    raised = await update(context, "me", str(memory.id), {"importance": 1.0})
    legs = {
        name: replace(leg, memories={**leg.memories, memory.id: raised})
        for name, leg in context.legs.items()
        if isinstance(leg, Listing)
    }
    return replace(context, legs=legs)


@pytest.mark.parametrize("walks", [False, True])
@pytest.mark.parametrize("fusion", FUSIONS)
async def test_following_a_remedy_of_why_brings_the_memory_in(fusion: Fusion, walks: bool) -> None:
    random = Random(fusion)
    followed = {"limit": 0, "importance": 0, "depth": 0, "depth and limit": 0}
    for limit in (1, 2, 4) * ROUNDS:
        context, memories = await make_context(InMemoryStore(), random, fusion, walks=walks)
        for memory in memories:
            excluded = frozenset([memory.id] if random.random() < 0.3 else [])
            request = RecallRequest("q", limit=limit, exclude=excluded)
            report = await why(context, "me", str(memory.id), request)
            for obstacle in report.kept_out:
                more, deeper = LIMIT.search(obstacle.remedy), DEPTH.search(obstacle.remedy)
                wanted = int(more[1]) if more else limit
                if deeper:
                    await change_settings(context, "me", {"depth": int(deeper[1])})
                    assert await is_recalled(context, memory, wanted), obstacle
                    await change_settings(context, "me", {"depth": DEPTH_AT_FIRST})
                    followed["depth and limit" if more else "depth"] += 1
                elif more:
                    assert await is_recalled(context, memory, wanted), obstacle
                    followed["limit"] += 1
                if obstacle.kind == "below_limit":
                    would_do = await is_recalled(await make_vital(context, memory), memory, limit)
                    await update(context, "me", str(memory.id), {"importance": memory.importance})
                    assert would_do == ("importance" in obstacle.remedy)
                    followed["importance"] += would_do
    assert all(followed.values()), followed
