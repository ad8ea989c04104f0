"""The exact-match bonus in a recall: what it costs when it is on, and nothing when it is off."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest
from tests.usecases.conftest import build_context
from tests.usecases.legs import Saying, candidates

from recollect.adapters.in_memory import InMemoryStore
from recollect.core.memory.memory import Draft, Memory
from recollect.core.recall.request import RecallRequest
from recollect.core.recall.successors import AsOf, Fetched
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.context import Context
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall

pytestmark = pytest.mark.anyio
QUERY = RecallRequest("the staging database", limit=1)


@dataclass(slots=True)
class CountingStore(InMemoryStore):
    read: list[int] = field(default_factory=list)

    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched:
        self.read.append(len(ids))
        return await InMemoryStore.fetch(self, owner, ids, as_of)


async def three(context: Context) -> tuple[Context, list[Memory]]:
    texts = ("staging", "database of staging", "the staging database")
    memories = [await remember(context, "me", Draft(text)) for text in texts]
    return replace(context, legs={"lexical": Saying(candidates(*memories))}), memories


async def test_exact_bonus_is_off_by_default_and_reads_only_what_is_shown() -> None:
    store = CountingStore()
    context, (first, *_) = await three(build_context(store))
    (hit,) = (await recall(context, "me", QUERY)).hits
    assert (hit.memory, hit.bonus) == (first, 1.0)
    assert store.read == [1]


async def test_exact_bonus_raises_an_exact_match_above_a_better_rank() -> None:
    store = CountingStore()
    context, (first, words, phrase) = await three(build_context(store))
    await change_settings(context, "me", {"exact_bonus": 0.5, "fusion": "rrf"})
    answer = await recall(context, "me", replace(QUERY, limit=3))
    assert [hit.memory for hit in answer.hits] == [phrase, words, first]
    assert [hit.fused for hit in answer.hits] == [1 / (60 + 3), 1 / (60 + 2), 1 / (60 + 1)]
    assert [hit.bonus for hit in answer.hits] == [1 + 0.5 * 1.0, 1 + 0.5 * 0.5, 1.0]
    assert answer.hits[0].score == 1 / (60 + 3) * (1 + 0.5 * 1.0) * (0.7 + 0.3 * 0.5)
    assert store.read == [3]  # all candidates, and the hits not once more


async def test_a_small_exact_bonus_does_not_pass_scores_that_stand_out(context: Context) -> None:
    """Scores of .9, .89 and .88 are closer than the least deviation of .009 allows: the first is
    two and the second one hundredth above the floor, and each has its vote, here of 7.
    """
    context, (first, words, phrase) = await three(context)
    for bonus, order in ((0.5, [first, phrase, words]), (1.0, [phrase, words, first])):
        await change_settings(context, "me", {"exact_bonus": bonus, "vote": 7})
        answer = await recall(context, "me", replace(QUERY, limit=3))
        assert [hit.memory for hit in answer.hits] == order
        by_memory = {hit.memory.id: hit.score / hit.prior for hit in answer.hits}
        assert by_memory == pytest.approx(
            {
                first.id: (0.02 / 0.009) ** 2 + 7,
                words.id: ((0.01 / 0.009) ** 2 + 7) * (1 + bonus / 2),
                phrase.id: (0 + 7) * (1 + bonus),
            }
        )


async def test_exact_bonus_does_not_apply_when_sorted_by_date() -> None:
    store = CountingStore()
    context, _ = await three(build_context(store))
    await change_settings(context, "me", {"exact_bonus": 0.5})
    (hit,) = (await recall(context, "me", replace(QUERY, sort_by="recency"))).hits
    assert (hit.bonus, store.read) == (1.0, [1])
