"""Where a walk over the graph begins, when the graph speaks, and what becomes of the order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from tests.conformance.samples import memory

from recollect.core.graph.walk import (
    MEMORY_MASS,
    Walked,
    can_join,
    damping,
    named_by,
    new_candidates,
    reorder,
    restart,
)
from recollect.core.memory.memory import Scope
from recollect.core.recall.fusion import Fused
from recollect.core.recall.request import Candidate, LegPlace, RecallRequest

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def fused(number: int, score: float) -> Fused:
    candidate = Candidate(UUID(int=number), score, 0.5, NOW)
    return Fused(candidate, score, {"lexical": LegPlace(number, score, score)})


@pytest.mark.parametrize(
    ("query", "keys", "is_telling"),
    [
        ("Where does Anna work?", ("anna",), True),
        ("who directed The Prairie King?", ("prairie king",), True),
        ("what did i eat in 2023?", ("2023",), False),
        ("what about the white matter of the brain?", (), False),
        ("Macrophages eat cells", ("macrophage",), False),
        ("Anna Karenina eats", ("anna karenina",), True),
        ("BRCA1 is a gene", ("brca1",), True),
        ("where is graph_weight set", ("graph_weight",), True),
    ],
)
def test_what_a_query_names(query: str, keys: tuple[str, ...], is_telling: bool) -> None:
    named = named_by(query)
    assert (named.keys, named.is_telling) == (keys, is_telling)


@pytest.mark.parametrize(("weight", "share"), [(0.0, 0.0), (1.0, 1 / 2), (1.5, 0.6), (5.0, 5 / 6)])
def test_the_weight_is_the_share_that_walks_on(weight: float, share: float) -> None:
    assert damping(weight) == pytest.approx(share)


@pytest.mark.parametrize(("by_model", "share"), [(0.0, 0.6), (0.5, 2.75 / 3.75), (1.0, 0.8)])
def test_a_graph_that_a_language_model_has_read_may_go_further(
    by_model: float, share: float
) -> None:
    assert damping(1.5, by_model) == pytest.approx(share)
    assert damping(0.0, by_model) == 0.0


def test_a_sure_hit_begins_with_more_than_many_alike() -> None:
    begun = restart([fused(1, 5.0), fused(2, 3.0), fused(3, 1.0)])
    assert begun == {UUID(int=1): MEMORY_MASS * 16 / 20, UUID(int=2): MEMORY_MASS * 4 / 20}
    assert restart([fused(1, 2.0), fused(2, 2.0)]) == dict.fromkeys(
        (UUID(int=1), UUID(int=2)), MEMORY_MASS / 2
    )
    assert restart([]) == {}


def test_the_walks_order_has_the_fused_scores_measure() -> None:
    before = [fused(1, 8.0), fused(2, 4.0), fused(3, 2.0)]
    walked = [
        Walked(UUID(int=2), 0.4),
        Walked(UUID(int=9), 0.2, ("Anna",)),
        Walked(UUID(int=8), 0.15),
        Walked(UUID(int=1), 0.1),
    ]
    assert new_candidates(before, walked) == [UUID(int=9), UUID(int=8)]
    joining = {UUID(int=9): memory(9, importance=0.9)}
    order = reorder(before, walked, joining)
    assert [one.candidate.id.int for one in order] == [2, 9, 1, 3]
    assert [one.score for one in order] == pytest.approx([8.0, 4.0, 2.0, 2.0])
    assert [one.legs["graph"].rank for one in order] == [1, 2, 3, None]  # not reached, no rank
    place = order[1].legs["graph"]
    assert (place.rank, place.score, place.path) == (2, 0.2, ("Anna",))
    assert place.contribution == pytest.approx(4.0)
    assert order[1].candidate.importance == 0.9
    for one in order:
        added = sum(place.contribution for place in one.legs.values())
        assert one.score == pytest.approx(added)


def test_whom_the_graph_does_not_know_keeps_its_place_without_a_rank() -> None:
    before = [fused(1, 8.0), fused(2, 4.0)]
    walked = [Walked(UUID(int=1), 0.4, is_known=False), Walked(UUID(int=2), 0.1)]
    first, second = reorder(before, walked, {})
    assert (first.candidate.id.int, first.score) == (1, 8.0)
    assert first.legs["graph"] == LegPlace(None, 0.0, 0.0)
    assert (second.score, second.legs["graph"].rank) == (2.0, 1)


def test_a_walk_that_came_nowhere_leaves_the_fused_order() -> None:
    before = [fused(1, 8.0), fused(2, 4.0)]
    assert reorder(before, [], {}) == before
    assert reorder(before, [Walked(UUID(int=9), 1.0)], {}) == before


def test_what_only_the_graph_found_is_held_to_the_rules() -> None:
    found = memory(1, project="p", created_at=NOW)
    assert can_join(RecallRequest("q"), found)
    assert not can_join(RecallRequest("q", exclude=frozenset({found.id})), found)
    assert not can_join(RecallRequest("q", scope=Scope(project="other")), found)
    assert not can_join(RecallRequest("q"), replace(found, is_sensitive=True))
    assert not can_join(RecallRequest("q"), replace(found, deleted_at=NOW))
    earlier = datetime(2025, 1, 1, tzinfo=UTC)
    assert not can_join(RecallRequest("q", as_of=earlier), found)
