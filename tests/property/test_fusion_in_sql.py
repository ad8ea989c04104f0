"""Fusion in SQL equals `core/recall/fusion.py`, to the last bit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies import all_weights, answers, candidate

from recollect.adapters.postgres.store import PostgresStore
from recollect.core.recall.fusion import FUSIONS, Fused, Fusion, fuse
from recollect.core.recall.request import Candidate, LegName

# What a leg can say: few different values, so that ties are frequent, and any others. Below 1e-300
# a quotient may be too small for a float8, and Postgres then refuses where Python says 0.
scores = (
    st.sampled_from([0.0, 0.25, 0.5, 1.0, -1.0]) | st.floats(1e-6, 1e6) | st.floats(-1e6, -1e-6)
)
weights = st.sampled_from([0.0, 0.35, 1.0]) | st.floats(0.01, 5.0)
Answers = dict[LegName, list[Candidate]]


FuseInSql = Callable[[Answers, dict[LegName, float], Fusion, int], list[Fused]]


@pytest.fixture(scope="module")
def fuse_in_sql(module_database_url: str) -> Iterator[FuseInSql]:
    store = PostgresStore(module_database_url, connections=1)
    with asyncio.Runner() as runner:
        runner.run(store.__aenter__())
        try:
            yield lambda *asked: runner.run(store.fuser(*asked))
        finally:
            runner.run(store.__aexit__(None, None, None))


TWICE: Answers = {"lexical": [candidate(1, 0.9), candidate(2, 0.5), candidate(1, 0.1)]}
CROSSED: Answers = {
    "lexical": [candidate(7, 1.0), candidate(3, 0.0)],
    "dense": [candidate(3, 1.0), candidate(7, -1.0)],
}
# Three legs whose sums differ by how they are added up.
THREE: Answers = {
    "lexical": [candidate(n, 1.0) for n in (1, 2, 3)],
    "dense": [candidate(n, 0.5) for n in (3, 1, 2)],
    "graph": [candidate(n, 0.1) for n in (2, 3, 1)],
}
EVEN: dict[LegName, float] = {"lexical": 1.0, "dense": 1.0, "graph": 0.35}


@example(TWICE, EVEN, "rrf", 60)
@example(TWICE, EVEN, "convex", 60)
@example(TWICE, EVEN, "standout", 60)
@example(CROSSED, EVEN, "standout", 60)
@example(THREE, EVEN, "standout", 60)
@example({"lexical": [candidate(1, 0.1), candidate(2, 0.1)]}, EVEN, "standout", 60)
@example(CROSSED, EVEN, "convex", 60)
@example(THREE, EVEN, "rrf", 60)
@example(THREE, EVEN, "convex", 60)
@example({"lexical": [candidate(1, 0.0), candidate(2, 0.0)]}, EVEN, "convex", 60)
@example({"dense": [candidate(1, 1.0), candidate(2, -1.0000001)]}, EVEN, "convex", 60)
@example({}, EVEN, "rrf", 60)
@given(answers(scores), all_weights(weights), st.sampled_from(FUSIONS), st.integers(1, 1_000))
def test_the_same_ranks_contributions_scores_and_order(
    fuse_in_sql: FuseInSql,
    legs: Answers,
    weights: dict[LegName, float],
    fusion: Fusion,
    k: int,
) -> None:
    assert fuse_in_sql(legs, weights, fusion, k) == fuse(legs, weights, fusion, k)
