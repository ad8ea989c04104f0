"""How a leg of the second phase changes the fused order."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from recollect.core.recall.fusion import Fused, reorder
from recollect.core.recall.request import Candidate, LegPlace

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make_candidate(
    number: int, score: float, path: tuple[str, ...] = (), *, is_ranked: bool = True
) -> Candidate:
    return Candidate(UUID(int=number), score, number / 10, NOW, path=path, is_ranked=is_ranked)


def fused(number: int, score: float) -> Fused:
    return Fused(make_candidate(number, score), score, {"lexical": LegPlace(number, score, score)})


def test_reorder_scales_the_legs_order_to_the_fused_scores() -> None:
    before = [fused(1, 8.0), fused(2, 4.0), fused(3, 2.0)]
    order = reorder(
        before,
        "graph",
        [make_candidate(2, 0.4), make_candidate(9, 0.2, ("Anna",)), make_candidate(1, 0.1)],
    )
    assert [entry.candidate.id.int for entry in order] == [2, 9, 1, 3]
    assert [entry.score for entry in order] == pytest.approx([8.0, 4.0, 2.0, 2.0])
    assert [entry.legs["graph"].rank for entry in order] == [1, 2, 3, None]  # 3 was not returned
    place = order[1].legs["graph"]
    assert (place.rank, place.score, place.path) == (2, 0.2, ("Anna",))
    assert place.contribution == pytest.approx(4.0)
    assert order[1].candidate.importance == 0.9
    for entry in order:
        added = sum(place.contribution for place in entry.legs.values())
        assert entry.score == pytest.approx(added)


def test_reorder_gives_an_unranked_candidate_a_place_and_no_rank() -> None:
    before = [fused(1, 8.0), fused(2, 4.0)]
    first, second = reorder(
        before, "graph", [make_candidate(1, 0.4, is_ranked=False), make_candidate(2, 0.1)]
    )
    assert (first.candidate.id.int, first.score) == (1, 8.0)
    assert first.legs["graph"] == LegPlace(None, 0.0, 0.0)
    assert (second.score, second.legs["graph"].rank) == (2.0, 1)


def test_reorder_keeps_the_fused_order_when_the_leg_returns_nothing() -> None:
    before = [fused(1, 8.0), fused(2, 4.0)]
    assert reorder(before, "graph", []) == before
    assert reorder([], "graph", [make_candidate(9, 1.0)]) == []
