"""What the local store says in a server's place: its own answer, with the reason, and with what
became of the legs that only the server has.

Of a leg that is not here the local store says that it is absent. That is true of the store, and not
of what was asked: with a server behind it, that leg should have answered, unless it was not to be
asked at all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from recollect.core.explain import WhyLeg, WhyReport, leg_obstacle
from recollect.core.recall import LegName, LegStatus, RecallRequest, Recollection, RerankReport

_SECOND_STAGE: Final = RerankReport("absent", note="the second stage is the server's")


def recalled_here(
    here: Recollection, request: RecallRequest, status: LegStatus, why: str
) -> Recollection:
    """What the local store found; `status` is that of the legs that the server has."""
    legs = dict(here.legs)
    for name, leg in here.legs.items():
        if leg.status == "absent":
            told, note = _told(name, request, status, why)
            legs[name] = replace(leg, status=told, note=note)
    stage = None if here.rerank is None else _SECOND_STAGE
    return replace(here, legs=legs, rerank=stage, note=_by_words(why))


def explained_here(
    report: WhyReport, request: RecallRequest, status: LegStatus, why: str
) -> WhyReport:
    """The same of a `why`, with the obstacles that these legs are."""
    legs: dict[LegName, WhyLeg] = dict(report.legs)
    for name, leg in report.legs.items():
        if leg.facts.status == "absent":
            told, note = _told(name, request, status, why)
            facts = replace(leg.facts, status=told, note=note)
            legs[name] = replace(
                leg, facts=facts, obstacle=leg_obstacle(name, facts, report.memory, request)
            )
    kept_out = tuple(
        one if one.leg is None else legs[one.leg].obstacle or one for one in report.kept_out
    )
    return replace(report, legs=legs, kept_out=kept_out, note=_by_words(why))


def _told(
    name: LegName, request: RecallRequest, status: LegStatus, why: str
) -> tuple[LegStatus, str]:
    """A leg that the server would not have asked is not missed."""
    if name == "dense" and request.as_of is not None:
        return "skipped", "what was known then is found by words"
    if name == "graph" and request.sort_by != "relevance":
        return "skipped", "the graph is walked for the order by relevance"
    return status, why


def _by_words(why: str) -> str:
    return f"answered by the local store, by words alone: {why}"
