"""A brief holds the most important and most recent memories that fit, and nothing it must not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, memory
from tests.strategies import MOMENT

from recollect.core.admin.stats import CurationCounts
from recollect.core.agents.injection import BRIEF_SENTENCE, block, tokens
from recollect.core.graph.model import ExtractionProgress
from recollect.core.memory.links import SUPERSEDES, Link
from recollect.core.memory.memory import Memory, Scope
from recollect.usecases.agents.brief import Brief, brief
from recollect.usecases.context import Context
from recollect.usecases.service import LocalService
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio
SCOPE = Scope(project="alpha", with_global=True)
NOW = MOMENT + timedelta(days=100)


async def make_brief(context: Context, *memories: Memory, budget: int = 1200) -> Brief:
    assert isinstance(context.store, InMemoryStore)
    for each in memories:
        await context.store.add(each)
    return await brief(LocalService(context, OWNER), SCOPE, budget_tokens=budget, now=NOW)


def old(number: int, days: int, importance: float, **fields: object) -> Memory:
    at = NOW - timedelta(days=days)
    stated = {"project": "alpha", **fields}
    return memory(number, f"memory {number}", updated_at=at, importance=importance, **stated)


async def test_importance_and_youth_both_count_and_global_ones_come_last(context: Context) -> None:
    result = await make_brief(
        context,
        old(1, days=90, importance=0.9),  # 0.9 + 1/8
        old(2, days=0, importance=0.2),  # 0.2 + 1
        old(3, days=60, importance=0.2),  # 0.2 + 1/4
        old(4, days=0, importance=1.0, project=None),
        old(5, days=0, importance=1.0, project="beta"),
    )
    assert [memory.id.int for memory in result.memories] == [2, 1, 3, 4]
    assert result.project == "alpha"


async def test_sensitive_memories_and_episodes_are_left_out(context: Context) -> None:
    result = await make_brief(
        context,
        old(1, days=0, importance=1.0, is_sensitive=True),
        old(2, days=0, importance=1.0, category="episode", session="s"),
        old(3, days=0, importance=0.1),
    )
    assert [memory.id.int for memory in result.memories] == [3]


async def test_memories_outside_their_lifetime_are_left_out(context: Context) -> None:
    day = timedelta(days=1)
    expired = old(2, days=0, importance=1.0, valid_until=NOW)
    result = await make_brief(
        context,
        old(1, days=0, importance=0.5, valid_from=NOW - day, valid_until=NOW + day),
        expired,
        old(3, days=0, importance=1.0, valid_from=NOW + day),
        old(4, days=0, importance=0.3),
        replace(expired, id=UUID(int=5), links=(Link(SUPERSEDES, UUID(int=4)),)),
    )
    assert [memory.id.int for memory in result.memories] == [1, 4], (
        "what an expired one replaced holds"
    )


async def test_superseded_memories_are_left_out_unless_they_supersede_each_other(
    context: Context,
) -> None:
    def after(number: int, former: int, **fields: object) -> Memory:
        links = (Link(SUPERSEDES, UUID(int=former)),)
        return old(number, days=number, importance=0.5, links=links, **fields)

    result = await make_brief(
        context,
        old(1, days=1, importance=1.0),
        after(2, former=1),
        after(3, former=4),
        after(4, former=3),
        old(5, days=5, importance=1.0),
        after(6, former=5, project="beta"),  # which is not stored, so 5 still holds
    )
    assert {memory.id.int for memory in result.memories} == {2, 3, 4, 5}


async def test_the_budget_holds_and_what_is_left_out_is_counted(context: Context) -> None:
    result = await make_brief(
        context, *(old(n, days=n, importance=0.5) for n in range(1, 90)), budget=400
    )
    assert 0 < len(result.memories) < 89
    assert result.left_out == 89 - len(result.memories)
    assert tokens(block(BRIEF_SENTENCE, result.memories)) <= 400


async def test_more_than_one_page_is_looked_at(context: Context) -> None:
    many = [old(n, days=0, importance=0.1) for n in range(2, 700)]
    result = await make_brief(context, old(1, days=0, importance=1.0), *many, budget=200)
    assert result.memories[0].id.int == 1


async def test_what_the_curator_applied_is_reported_within_the_budget(context: Context) -> None:
    async def counts(_owner: str) -> CurationCounts:
        return CurationCounts(undecided=4, applied=2)

    many = [old(number, days=number, importance=0.5) for number in range(1, 40)]
    result = await make_brief(replace(context, curation_counts=counts), *many, budget=200)
    assert result.applied == 2
    assert result.sentence.startswith(BRIEF_SENTENCE)
    assert "replaced 2 memories without asking" in result.sentence
    assert tokens(block(result.sentence, result.memories)) <= 200


async def test_a_brief_counts_what_was_applied_and_nothing_else(context: Context) -> None:
    async def progress(_owner: str) -> ExtractionProgress:
        raise AssertionError("a session that starts waits for this")

    result = await make_brief(
        replace(context, graph_progress=progress), old(1, days=0, importance=0.5)
    )
    assert result.applied == 0
