from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.strategies import MOMENT, new_id

from recollect.core.memory.memory import Memory
from recollect.core.recall.explain import LegFacts, Obstacle, WhyLeg, WhyReport
from recollect.core.recall.offline import mark_local_answer, mark_local_report
from recollect.core.recall.request import (
    LegName,
    LegReport,
    LegStatus,
    RecallRequest,
    Recollection,
    RerankReport,
)

PRESENT = RecallRequest("harbour")
BY_DATE = RecallRequest("harbour", sort_by="recency")
PAST = RecallRequest("harbour", as_of=datetime(2026, 1, 1, tzinfo=UTC))
RAN = LegReport("ran", 1.0, 3, 0.5)


def make_answer(dense: LegStatus = "absent", weight: float = 0.85) -> Recollection:
    legs: dict[LegName, LegReport] = {
        "lexical": RAN,
        "dense": LegReport(dense, weight),
        "graph": LegReport("absent", 1.5),
    }
    return Recollection((), legs, "standout", 1.0, RerankReport("absent", note="no model for it"))


@pytest.mark.parametrize(
    ("here", "request_", "status", "dense", "graph", "degraded"),
    [
        (make_answer(), PRESENT, "late", "late", "late", ("dense", "graph")),
        (make_answer(), PRESENT, "failed", "failed", "failed", ("dense", "graph")),
        (make_answer(), PRESENT, "skipped", "skipped", "skipped", ()),
        # A leg with weight 0 is not missing.
        (make_answer("skipped", 0.0), PRESENT, "late", "skipped", "late", ("graph",)),
        # Nor is one that the server would not have asked.
        (make_answer(), PAST, "failed", "skipped", "failed", ("graph",)),
        (make_answer(), BY_DATE, "failed", "failed", "skipped", ("dense",)),
    ],
)
def test_local_answer_misses_only_legs_that_should_have_answered(
    here: Recollection,
    request_: RecallRequest,
    status: LegStatus,
    dense: str,
    graph: str,
    degraded: tuple[str, ...],
) -> None:
    marked = mark_local_answer(here, request_, status, "the server sleeps")
    assert marked.legs["lexical"] == RAN
    assert (marked.legs["dense"].status, marked.legs["graph"].status) == (dense, graph)
    assert marked.legs["dense"].weight == here.legs["dense"].weight
    assert marked.degraded == degraded
    assert marked.note == "answered by the local store, by words alone: the server sleeps"


def test_local_answer_by_meaning_says_so() -> None:
    marked = mark_local_answer(make_answer("ran"), PRESENT, "failed", "the server sleeps")
    assert marked.legs["dense"].status == "ran"
    assert marked.note == "answered by the local store: the server sleeps"


def test_local_answer_leaves_the_second_stage_to_the_server() -> None:
    stage = mark_local_answer(make_answer(), PRESENT, "late", "it sleeps").rerank
    assert stage is not None
    assert (stage.status, stage.note) == ("absent", "reranking runs only on the server")


def test_local_report_names_the_server_where_a_leg_is_missing() -> None:
    absent = Obstacle("leg_absent", "there is no dense leg here", "See the doctor.", "dense")
    forgotten = Obstacle("forgotten", "it was forgotten", "Remember it again.")
    legs: dict[LegName, WhyLeg] = {
        "lexical": WhyLeg(LegFacts("ran", 1.0, 100), 0.0),
        "dense": WhyLeg(LegFacts("absent", 0.85, 100), None, absent),
    }
    memory = Memory(
        id=new_id(), owner="me", content="the harbour", created_at=MOMENT, updated_at=MOMENT
    )
    report = WhyReport(memory, False, None, 10, None, 1.0, None, legs, kept_out=(forgotten, absent))
    marked = mark_local_report(report, PRESENT, "failed", "the server cannot be reached")
    assert (
        marked.note == "answered by the local store, by words alone: the server cannot be reached"
    )
    assert marked.legs["lexical"] == legs["lexical"]
    assert marked.legs["dense"].facts.status == "failed"
    assert [obstacle.what for obstacle in marked.kept_out] == [
        "it was forgotten",
        "the dense leg failed: the server cannot be reached",
    ]
    assert marked.kept_out[1] == marked.legs["dense"].obstacle


@pytest.mark.parametrize(
    ("request_", "status", "remedies"),
    [
        (PRESENT, "absent", ("`recollect sync`", "`recollect sync`")),
        (PRESENT, "skipped", ("marking the query as sensitive", "marking the query as sensitive")),
        (PAST, "failed", ("Omit --as-of.", "`recollect doctor`")),
        (BY_DATE, "failed", ("`recollect doctor`", "Sort by relevance.")),
    ],
)
def test_local_report_has_a_remedy_that_fits_the_missing_leg(
    request_: RecallRequest, status: LegStatus, remedies: tuple[str, str]
) -> None:
    absent = WhyLeg(LegFacts("absent", 1.0, 100))
    legs: dict[LegName, WhyLeg] = {"dense": absent, "graph": absent}
    memory = Memory(
        id=new_id(), owner="me", content="the harbour", created_at=MOMENT, updated_at=MOMENT
    )
    stage = RerankReport("absent", note="no model for it")
    report = WhyReport(
        memory, False, None, 10, None, 1.0, None, legs, kept_out=(), second_stage=stage
    )
    marked = mark_local_report(report, request_, status, "it is so")
    for leg, remedy in zip(marked.legs.values(), remedies, strict=True):
        assert leg.obstacle is not None
        assert remedy in leg.obstacle.remedy
    assert marked.second_stage is not None
    assert marked.second_stage.note == "reranking runs only on the server"
