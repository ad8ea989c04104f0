"""What the local store answers in a server's place: its own answer, with the reason, and with what
became of the legs that only the server has.

The local store reports such a leg as absent. That is true of the store, but with a server behind it
the leg should have answered, unless it was not to be asked at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from recollect.core.recall.explain import WhyLeg, WhyReport
from recollect.core.recall.explain_legs import leg_obstacle
from recollect.core.recall.request import (
    LegName,
    LegStatus,
    Reason,
    RecallRequest,
    Recollection,
    RerankReport,
)

# Why a server is not asked, or does not know, though nothing is wrong with it.
_REASONS: Final[Mapping[LegStatus, Reason]] = {"skipped": "sensitive_query", "absent": "unsent"}
_SECOND_STAGE: Final = RerankReport("absent", note="reranking runs only on the server")


def mark_local_answer(
    here: Recollection, request: RecallRequest, status: LegStatus, why: str
) -> Recollection:
    """What the local store found; `status` is that of the legs that the server has."""
    legs = dict(here.legs)
    for name, leg in here.legs.items():
        if leg.status == "absent":
            missing, note, reason = _missing_leg(name, request, status, why)
            legs[name] = leg._replace(status=missing, note=note, reason=reason)
    stage = here.rerank
    if stage is not None and stage.stage == "cross-encoder":
        stage = _SECOND_STAGE
    note = _local_note(why, by_meaning=here.legs["dense"].status == "ran")
    return replace(here, legs=legs, rerank=stage, note=note, hint=None)


def mark_local_report(
    report: WhyReport, request: RecallRequest, status: LegStatus, why: str
) -> WhyReport:
    """The same of a `why`, with the obstacles that these legs are."""
    legs: dict[LegName, WhyLeg] = dict(report.legs)
    for name, leg in report.legs.items():
        if leg.facts.status == "absent":
            missing, note, reason = _missing_leg(name, request, status, why)
            facts = replace(leg.facts, status=missing, note=note, reason=reason)
            legs[name] = replace(
                leg, facts=facts, obstacle=leg_obstacle(name, facts, report.memory, request)
            )
    kept_out = tuple(
        obstacle if obstacle.leg is None else legs[obstacle.leg].obstacle or obstacle
        for obstacle in report.kept_out
    )
    stage = report.second_stage
    if stage is not None and stage.status == "absent":
        stage = _SECOND_STAGE
    note = _local_note(why, by_meaning=report.legs["dense"].facts.status == "ran")
    return replace(report, legs=legs, kept_out=kept_out, second_stage=stage, note=note)


def _missing_leg(
    name: LegName, request: RecallRequest, status: LegStatus, why: str
) -> tuple[LegStatus, str, Reason | None]:
    """A leg that the server would not have asked is not missed."""
    if name == "dense" and request.as_of is not None:
        return "skipped", "what was known then is found by words", "past"
    if name == "graph" and request.sort_by != "relevance":
        return "skipped", "the graph leg runs only when sorted by relevance", "other_order"
    return status, why, _REASONS.get(status)


def _local_note(why: str, *, by_meaning: bool) -> str:
    how = "" if by_meaning else ", by words alone"
    return f"answered by the local store{how}: {why}"
