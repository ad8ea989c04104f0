"""What a recall answers; failing legs are tested in test_recall_legs.py."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.strategies import MOMENT
from tests.usecases.legs import Saying, candidates

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Draft, Memory, Scope
from recollect.core.recall.fusion import FUSIONS
from recollect.core.recall.request import RecallRequest, Recollection, SortBy
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.context import Context
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall

pytestmark = pytest.mark.anyio
VOTE, DENSE = RecallSettings().vote, RecallSettings().dense_weight


async def remember_all(context: Context, *contents: str, owner: str = "me") -> list[Memory]:
    return [await remember(context, owner, Draft(content)) for content in contents]


def contents(answer: Recollection) -> list[str]:
    return [hit.memory.content for hit in answer.hits]


async def test_recall_finds_a_memory_by_its_words(context: Context) -> None:
    await remember_all(context, "the staging database is read-only", "lunch is at noon")
    answer = await recall(context, "me", RecallRequest("which database is read-only?"))
    assert contents(answer) == ["the staging database is read-only"]


async def test_recall_explains_each_hit(context: Context) -> None:
    both, words_only = await remember_all(context, "staging database", "staging")
    dense = Saying(candidates(both, best=0.75))
    context = replace(context, legs={**context.legs, "dense": dense})
    answer = await recall(context, "me", RecallRequest("staging database"))
    first, second = answer.hits
    assert (first.memory, second.memory) == (both, words_only)
    assert {leg: place.rank for leg, place in first.legs.items()} == {"lexical": 1, "dense": 1}
    assert first.legs["dense"].score == 0.75
    # By words, one of two stands out by 4, and the other is at the floor and has only its vote; by
    # meaning, the only one has nothing to stand out from. The legs count by weight.
    words, meaning = 1.0 / (1.0 + DENSE) * (4 + VOTE), DENSE / (1.0 + DENSE) * (0 + VOTE)
    assert first.legs["lexical"].contribution == words
    assert first.legs["dense"].contribution == meaning
    assert first.fused == words + meaning
    assert first.prior == 0.7 + 0.3 * 0.5
    assert first.score == first.fused * first.prior
    held = second.legs["lexical"].evidence
    assert 0.0 < held < 0.5  # of two words it has the one that both memories have
    # It has no vector: its words count as its meaning.
    assert second.fused == pytest.approx(held * (1.0 / (1.0 + DENSE) * (0 + VOTE) + meaning))
    assert answer.fusion == "standout"
    assert {name: (leg.status, leg.found) for name, leg in answer.legs.items()} == {
        "lexical": ("ran", 2),
        "dense": ("ran", 1),
        "graph": ("absent", 0),
    }
    assert {name: leg.weight for name, leg in answer.legs.items()} == {
        "lexical": 1.0,
        "dense": DENSE,
        "graph": 1.5,
    }
    assert answer.took_ms >= answer.legs["lexical"].took_ms >= 0
    assert answer.degraded == ()


async def test_recall_obeys_changed_settings_at_once(context: Context) -> None:
    one, other = await remember_all(context, "one", "other")
    lexical, dense = Saying(candidates(one, other)), Saying(candidates(other))
    context = replace(context, legs={"lexical": lexical, "dense": dense})
    # The settings differ by .01; scores of .9 count as equal within .009.
    stands_out = 1.0 / (1.0 + DENSE) * (0.01 / 0.009) ** 2
    first, second = (await recall(context, "me", RecallRequest("q"))).hits
    assert first.memory == one
    assert first.fused == pytest.approx(stands_out + VOTE)
    await change_settings(context, "me", {"vote": 0})
    first, second = (await recall(context, "me", RecallRequest("q"))).hits
    assert first.memory == one
    assert first.fused == pytest.approx(stands_out)
    assert (second.memory, second.fused) == (other, 0.0)
    weights = {"lexical_weight": 3, "dense_weight": 0.1}
    await change_settings(context, "me", {"fusion": "rrf", "rrf_k": 10, **weights})
    first, second = (await recall(context, "me", RecallRequest("q"))).hits
    assert (first.memory, first.fused) == (one, 3 / (10 + 1))
    assert (second.memory, second.fused) == (other, 3 / (10 + 2) + 0.1 / (10 + 1))
    await change_settings(context, "me", {"fusion": "convex"})
    answer = await recall(context, "me", RecallRequest("q"))
    assert answer.fusion == "convex"
    assert {hit.memory.content: hit.fused for hit in answer.hits} == pytest.approx(
        {"other": 3 / 3.1 * 0.89 / 0.9 + 0.1 / 3.1 * 1.9 / 1.9, "one": 3 / 3.1 * 0.9 / 0.9}
    )


async def test_recall_prefers_the_weights_of_the_request(context: Context) -> None:
    one, other = await remember_all(context, "one", "other")
    lexical, dense = Saying(candidates(one)), Saying(candidates(other))
    context = replace(context, legs={"lexical": lexical, "dense": dense})
    heavy_dense = RecallRequest("q", weights={"dense": 5.0})
    answer = await recall(context, "me", heavy_dense)
    # Each leg found one memory, which has its vote and nothing to stand out from. The words of the
    # one without a vector count as its meaning.
    assert {hit.memory.content: hit.fused for hit in answer.hits} == pytest.approx(
        {"other": 5 / 6 * VOTE, "one": (1 / 6 + 5 / 6) * VOTE}
    )
    assert answer.legs["dense"].weight == 5.0
    assert (await recall(context, "me", RecallRequest("q"))).legs["dense"].weight == DENSE


@pytest.mark.parametrize("by", ["settings", "request"])
async def test_recall_does_not_run_a_leg_without_weight(context: Context, by: str) -> None:
    (one,) = await remember_all(context, "one")
    lexical, dense = Saying(candidates(one)), Saying(candidates(one))
    context = replace(context, legs={"lexical": lexical, "dense": dense})
    if by == "settings":
        await change_settings(context, "me", {"dense_weight": 0})
        request = RecallRequest("q")
    else:
        request = RecallRequest("q", weights={"dense": 0.0})
    answer = await recall(context, "me", request)
    assert (len(lexical.asked), len(dense.asked)) == (1, 0)
    assert answer.legs["dense"].status == "skipped"
    assert list(answer.hits[0].legs) == ["lexical"]


@pytest.mark.parametrize("by", ["settings", "request"])
async def test_recall_refuses_to_ask_no_leg(context: Context, by: str) -> None:
    """An empty answer would claim that nothing is known."""
    await remember_all(context, "one")
    request = RecallRequest("one")
    if by == "settings":
        await context.settings.write_settings({"lexical_weight": 0}, by="me", at=MOMENT)
    else:
        request = RecallRequest("one", weights={"lexical": 0.0})
    with pytest.raises(InvalidInput) as refused:
        await recall(context, "me", request)
    assert refused.value.field == "weights"
    assert "lexical_weight" in refused.value.remedy


async def test_recall_keeps_the_lexical_order_with_words_alone(context: Context) -> None:
    memories = await remember_all(context, *(f"memory {number}" for number in range(9)))
    shuffled = [memories[place] for place in (4, 0, 8, 2, 6, 1, 7, 3, 5)]
    context = replace(context, legs={"lexical": Saying(candidates(*shuffled))})
    for fusion in FUSIONS:
        await change_settings(context, "me", {"fusion": fusion})
        answer = await recall(context, "me", RecallRequest("q"))
        assert [hit.memory for hit in answer.hits] == shuffled


async def test_recall_gives_no_place_to_excluded_memories(context: Context) -> None:
    in_prompt, wanted = await remember_all(context, "staging is frozen", "staging is frozen today")
    heedless = Saying(candidates(in_prompt, wanted))
    context = replace(context, legs={**context.legs, "dense": heedless})
    request = RecallRequest("staging frozen", limit=1, exclude=frozenset({in_prompt.id}))
    (hit,) = (await recall(context, "me", request)).hits
    assert hit.memory == wanted
    assert {leg: place.rank for leg, place in hit.legs.items()} == {"lexical": 1, "dense": 1}


async def test_recall_returns_the_limit_beyond_the_depth(context: Context) -> None:
    await remember_all(context, *(f"staging note {number}" for number in range(8)))
    await change_settings(context, "me", {"depth": 2})
    for limit, expected in ((1, 1), (2, 2), (5, 5), (100, 8)):
        answer = await recall(context, "me", RecallRequest("staging", limit=limit))
        assert len(answer.hits) == expected


async def test_recall_widens_the_lexical_leg_with_expanded_words(context: Context) -> None:
    await remember_all(context, "deploys stop on Fridays")
    plain = RecallRequest("when may I ship?")
    assert (await recall(context, "me", plain)).hits == ()
    answer = await recall(context, "me", replace(plain, expanded_query="deploy release"))
    assert contents(answer) == ["deploys stop on Fridays"]


async def test_recall_stays_with_the_owner_and_in_the_scope(context: Context) -> None:
    for project in ("web", "app"):
        await remember(context, "me", Draft(f"staging of {project}", project=project))
    await remember(context, "you", Draft("staging of yours", project="web"))
    answer = await recall(context, "me", RecallRequest("staging", scope=Scope(project=" web ")))
    assert contents(answer) == ["staging of web"]


async def test_recall_drops_what_a_leg_finds_of_another_owner(context: Context) -> None:
    (theirs,) = await remember_all(context, "theirs", owner="you")
    context = replace(context, legs={"lexical": Saying(candidates(theirs))})
    assert (await recall(context, "me", RecallRequest("q"))).hits == ()


SORTED: list[tuple[SortBy, list[str]]] = [
    ("relevance", ["old and vital", "new and trivial", "middling"]),
    ("importance", ["old and vital", "middling", "new and trivial"]),
    ("recency", ["new and trivial", "middling", "old and vital"]),
]


@pytest.mark.parametrize(("sort_by", "expected"), SORTED)
async def test_recall_sorts_by_relevance_importance_or_recency(
    context: Context, sort_by: SortBy, expected: list[str]
) -> None:
    vital = await remember(context, "me", Draft("old and vital", importance=1.0))
    middling = await remember(context, "me", Draft("middling", importance=0.5))
    trivial = await remember(context, "me", Draft("new and trivial", importance=0.45))
    # With a vote of 7 the scores of fusion are 11.6, 11.4 and 7; the priors are .835, 1 and .85.
    await change_settings(context, "me", {"vote": 7})
    found = [*candidates(trivial, vital), *candidates(middling, best=0.5)]
    context = replace(context, legs={"lexical": Saying(found)})
    answer = await recall(context, "me", RecallRequest("q", sort_by=sort_by))
    assert contents(answer) == expected


@pytest.mark.parametrize("query", ["", " ", "AND", '"', "\x00", "\ud800", "🚀", "the", "x" * 10**6])
async def test_recall_accepts_any_text_as_a_query(context: Context, query: str) -> None:
    await remember_all(context, "staging is frozen")
    answer = await recall(context, "me", RecallRequest(query, expanded_query=query))
    assert answer.legs["lexical"].status == "ran"
