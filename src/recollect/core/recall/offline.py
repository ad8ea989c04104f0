"""The local store's answer when there is none from the server, with the reason, and with a status
for the legs that only the server has.

The local store reports such a leg as absent. But with a server behind the store the leg should have
answered, unless it was not to be asked at all.
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

# Why a server was not asked, or does not know a memory, although nothing is wrong with it.
_REASONS: Final[Mapping[LegStatus, Reason]] = {"skipped": "sensitive_query", "absent": "unsent"}
_SECOND_STAGE: Final = RerankReport("absent", note="reranking runs only on the server")


def mark_local_answer(
    here: Recollection, request: RecallRequest, status: LegStatus, why: str
) -> Recollection:
    """Return what the local store found, with `status` for the legs that only the server has."""
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
    """Do the same for a `why`, and add the obstacles that these legs are."""
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
    """Return the status, note and reason of a leg that only the server has. One that the server
    would not have asked either is not missing.
    """
    if name == "dense" and request.as_of is not None:
        return "skipped", "what was known then is found by words", "past"
    if name == "graph" and request.sort_by != "relevance":
        return "skipped", "the graph leg runs only when sorted by relevance", "other_order"
    return status, why, _REASONS.get(status)


def _local_note(why: str, *, by_meaning: bool) -> str:
    how = "" if by_meaning else ", by words alone"
    return f"answered by the local store{how}: {why}"
