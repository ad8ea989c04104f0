"""Where a walk over the graph begins, when the graph is consulted, and how it changes the order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from tests.conformance.samples import memory
from tests.recall_contexts import recall_context

from recollect.core.graph.walk import (
    MEMORY_MASS,
    can_join,
    damping,
    find_names,
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
        ("Macrophages", ("macrophage",), True),
        ("Caroline?", ("caroline",), True),
        ("Anna Karenina eats", ("anna karenina",), True),
        ("BRCA1 is a gene", ("brca1",), True),
        ("where is graph_weight set", ("graph_weight",), True),
    ],
)
def test_find_names_finds_what_a_query_names(
    query: str, keys: tuple[str, ...], is_telling: bool
) -> None:
    named = find_names(query)
    assert (named.keys, named.is_telling) == (keys, is_telling)


@pytest.mark.parametrize(("weight", "share"), [(0.0, 0.0), (1.0, 1 / 2), (1.5, 0.6), (5.0, 5 / 6)])
def test_damping_is_the_share_that_walks_on(weight: float, share: float) -> None:
    assert damping(weight) == pytest.approx(share)


@pytest.mark.parametrize(("by_model", "share"), [(0.0, 0.6), (0.5, 2.75 / 3.75), (1.0, 0.8)])
def test_damping_is_higher_for_a_graph_that_a_language_model_has_read(
    by_model: float, share: float
) -> None:
    assert damping(1.5, by_model) == pytest.approx(share)
    assert damping(0.0, by_model) == 0.0


def test_restart_gives_a_sure_hit_more_mass_than_many_alike() -> None:
    begun = restart([fused(1, 5.0), fused(2, 3.0), fused(3, 1.0)])
    # An average step is 4/3: the heights above the floor are 16/3, 10/3 and 4/3.
    heights = {UUID(int=1): 16, UUID(int=2): 10, UUID(int=3): 4}
    total = 16**2 + 10**2 + 4**2
    assert begun == pytest.approx(
        {id: MEMORY_MASS * height**2 / total for id, height in heights.items()}
    )
    assert restart([fused(1, 2.0), fused(2, 2.0)]) == dict.fromkeys(
        (UUID(int=1), UUID(int=2)), MEMORY_MASS / 2
    )
    assert restart([]) == {}


def test_can_join_obeys_scope_exclude_sensitive_and_forgotten() -> None:
    found = memory(1, project="p", created_at=NOW)
    assert can_join(recall_context(RecallRequest("q")), found)
    assert not can_join(recall_context(RecallRequest("q", exclude=frozenset({found.id}))), found)
    assert not can_join(recall_context(RecallRequest("q", scope=Scope(project="other"))), found)
    assert not can_join(recall_context(RecallRequest("q")), replace(found, is_sensitive=True))
    assert not can_join(recall_context(RecallRequest("q")), replace(found, deleted_at=NOW))
    earlier = datetime(2025, 1, 1, tzinfo=UTC)
    assert not can_join(recall_context(RecallRequest("q", as_of=earlier)), found)
