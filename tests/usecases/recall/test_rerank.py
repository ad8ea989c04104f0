"""The second stage: a better order for the first hits within a hard limit, or the fused order."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.strategies import new_id
from tests.usecases.legs import Saying, candidates
from tests.usecases.vectors import TableReranker

from recollect.core.errors import ModelUnavailable
from recollect.core.memory.memory import Draft, Memory
from recollect.core.recall.context import PhaseShares
from recollect.core.recall.request import RecallRequest, Recollection, SortBy
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.context import Context
from recollect.usecases.memory.change import forget
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall

pytestmark = pytest.mark.anyio

# By words alone: the shorter, the better. The table reverses that.
CONTENTS = ("staging", "staging one", "staging one two", "staging one two three")
BACKWARDS = {"staging": 0.1, "one": 0.2, "two": 0.3, "three": 0.4}


async def fill(context: Context, **sensitive: bool) -> list[Memory]:
    await change_settings(context, "me", {"second_stage": "cross-encoder", "rerank_depth": 5})
    return [
        await remember(
            context, "me", Draft(content, is_sensitive=sensitive.get(f"_{place}", False))
        )
        for place, content in enumerate(CONTENTS)
    ]


def contents(answer: Recollection) -> list[str]:
    return [hit.memory.content for hit in answer.hits]


async def ask(context: Context, reranker: TableReranker, **fields: Any) -> Recollection:
    request = replace(RecallRequest("staging"), **fields)
    return await recall(replace(context, reranker=reranker), "me", request)


async def test_rerank_orders_the_first_hits(context: Context) -> None:
    await fill(context)
    answer = await ask(context, TableReranker(BACKWARDS))
    assert contents(answer) == list(reversed(CONTENTS))
    assert [hit.rerank.former_place for hit in answer.hits if hit.rerank] == [4, 3, 2, 1]
    assert [hit.rerank.score for hit in answer.hits if hit.rerank] == [0.4, 0.3, 0.2, 0.1]
    # What fusion computed remains visible: by words it was the last, with nothing but its vote.
    assert answer.hits[0].fused == RecallSettings().vote
    assert answer.rerank is not None
    assert (answer.rerank.status, answer.rerank.reranked) == ("ran", 4)


async def test_rerank_can_be_off(context: Context) -> None:
    await fill(context)
    await change_settings(context, "me", {"second_stage": "off"})
    reranker = TableReranker(BACKWARDS)
    answer = await ask(context, reranker)
    assert contents(answer) == list(CONTENTS)
    assert (reranker.asked, answer.rerank) == ([], None)
    assert all(hit.rerank is None for hit in answer.hits)


@pytest.mark.parametrize("sort_by", ["importance", "recency"])
async def test_rerank_applies_to_relevance_only(context: Context, sort_by: SortBy) -> None:
    await fill(context)
    reranker = TableReranker(BACKWARDS)
    answer = await ask(context, reranker, sort_by=sort_by)
    assert (reranker.asked, answer.rerank) == ([], None)


async def test_rerank_can_raise_a_hit_from_behind_the_limit(
    context: Context,
) -> None:
    await fill(context)
    for _ in range(3):
        again = Draft("staging one two three four five", id=new_id())
        await remember(context, "me", again)
    reranker = TableReranker({"five": 1.0})
    answer = await ask(context, reranker, limit=1)
    assert len(reranker.asked[0][1]) == 5
    assert contents(answer) == ["staging one two three four five"]
    assert answer.hits[0].rerank is not None
    assert answer.hits[0].rerank.former_place == 5


async def test_rerank_leaves_hits_behind_its_depth_in_place(context: Context) -> None:
    await fill(context)
    for number in range(3):
        again = Draft(f"staging one two three four five {number}", id=new_id())
        await remember(context, "me", again)
    answer = await ask(context, TableReranker(BACKWARDS))
    assert [hit.rerank is not None for hit in answer.hits] == [True] * 5 + [False] * 2


async def test_rerank_does_not_read_a_sensitive_memory_and_keeps_its_place(
    context: Context,
) -> None:
    await fill(context, _1=True)
    reranker = TableReranker(BACKWARDS)
    answer = await ask(context, reranker)
    assert "staging one" not in reranker.asked[0][1]
    assert contents(answer) == [CONTENTS[3], CONTENTS[1], CONTENTS[2], CONTENTS[0]]
    assert answer.hits[1].rerank is None


async def test_rerank_keeps_the_fused_order_for_equal_scores(context: Context) -> None:
    await fill(context)
    assert contents(await ask(context, TableReranker({}))) == list(CONTENTS)


async def test_rerank_keeps_the_fused_order_past_its_timeout(context: Context) -> None:
    await fill(context)
    await change_settings(context, "me", {"rerank_timeout_ms": 10})
    reranker = TableReranker({}, hangs=True)
    answer = await ask(context, reranker)
    assert contents(answer) == list(CONTENTS)
    assert answer.rerank is not None
    assert (answer.rerank.status, answer.rerank.reranked) == ("late", 0)
    assert "10 ms" in (answer.rerank.note or "")
    assert all(hit.rerank is None for hit in answer.hits)
    await reranker.ended.wait()  # and its work was stopped


async def test_rerank_ends_at_the_deadline_of_the_recall(context: Context) -> None:
    context = replace(context, shares=PhaseShares(rerank=0.005))  # less than its own limit
    await fill(context)
    answer = await ask(context, TableReranker({}, hangs=True))
    assert contents(answer) == list(CONTENTS)
    assert answer.rerank is not None
    assert answer.rerank.status == "late"
    assert "not done within 10000 ms" not in (answer.rerank.note or "")


FAULTS = [
    (TableReranker({}, error=ModelUnavailable("it is gone", remedy="x")), "it is gone"),
    (TableReranker({}, error=ValueError("quoting a memory")), "ValueError"),
    (TableReranker({}, answer=[0.5]), "one number for each text"),
    (TableReranker({}, answer=[0.5, 0.1, float("nan"), 0.2]), "one number for each text"),
    (TableReranker({}, error=asyncio.CancelledError()), "cancelled"),  # type: ignore[arg-type]  # a BaseException on purpose
]


@pytest.mark.parametrize(("reranker", "note"), FAULTS)
async def test_rerank_keeps_the_fused_order_when_the_model_fails(
    context: Context, reranker: TableReranker, note: str
) -> None:
    await fill(context)
    answer = await ask(context, reranker)
    assert contents(answer) == list(CONTENTS)
    assert answer.rerank is not None
    assert answer.rerank.status == "failed"
    assert note in (answer.rerank.note or "")


async def test_rerank_without_a_model_says_which_setting_names_one(context: Context) -> None:
    await fill(context)
    answer = await recall(context, "me", RecallRequest("staging"))
    assert contents(answer) == list(CONTENTS)
    assert answer.rerank is not None
    assert answer.rerank.status == "absent"
    assert "RECOLLECT_RERANKER" in (answer.rerank.note or "")


@pytest.mark.parametrize(
    ("is_hosted", "is_sensitive", "status"),
    [(True, True, "skipped"), (True, False, "ran"), (False, True, "ran")],
)
async def test_rerank_does_not_send_a_sensitive_query_to_a_hosted_model(
    context: Context, is_hosted: bool, is_sensitive: bool, status: str
) -> None:
    await fill(context)
    reranker = TableReranker(BACKWARDS, is_hosted=is_hosted)
    answer = await ask(context, reranker, is_sensitive=is_sensitive)
    assert answer.rerank is not None
    assert answer.rerank.status == status
    assert bool(reranker.asked) == (status == "ran")


async def test_rerank_does_not_read_a_memory_forgotten_meanwhile(context: Context) -> None:
    gone, kept, *_ = await fill(context)
    await forget(context, "me", str(gone.id))
    context = replace(context, legs={"lexical": Saying(candidates(gone, kept))})
    reranker = TableReranker(BACKWARDS)
    answer = await ask(context, reranker)
    assert reranker.asked[0][1] == [kept.content]
    assert [hit.memory for hit in answer.hits] == [kept]


async def test_rerank_does_nothing_when_nothing_was_found(context: Context) -> None:
    await fill(context)
    reranker = TableReranker(BACKWARDS)
    answer = await ask(context, reranker, query="unheard")
    assert (answer.hits, reranker.asked) == ((), [])
