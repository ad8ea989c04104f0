"""Why a memory is or is not recalled, as JSON."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from pydantic import Field

from recollect.core.recall.explain import LegFacts, ObstacleKind, WhyLeg, WhyReport
from recollect.core.recall.request import LegName, LegStatus, Reason
from recollect.wire.codec import Codec, build
from recollect.wire.recall import Joined, MemoryOut, RerankPlaceOut, RerankReportOut
from recollect.wire.values import Shape


class ObstacleOut(Shape):
    """Something that kept the memory out, or out of one leg, and what would remove it."""

    kind: ObstacleKind
    what: str
    remedy: str
    leg: LegName | None


class WhyLegOut(Shape):
    """What one leg says about the memory."""

    status: LegStatus
    weight: float
    depth: int = Field(description="How many results recall requests from this leg.")
    score: float | None = Field(description="Null if the leg does not find the memory.")
    rank: int | None = Field(
        description="Down to 10,000; for a memory that is not allowed in, the rank it would have. "
        "Null if it is not found, or if the leg stops before it."
    )
    searched: int = Field(description="How many results of the leg were checked.")
    contribution: float | None = Field(description="What the leg adds to the fused score.")
    note: str | None
    obstacle: ObstacleOut | None
    reason: Reason | None = Field(
        default=None, description="Why the leg had nothing to contribute to this query."
    )
    parked: str | None = Field(
        default=None,
        description="The error with which its text failed to be embedded too often, if it did.",
    )


class WhyOut(Shape):
    """Why the memory is or is not recalled. `place` is its place in the whole order, or the place
    it would have if allowed in; null if no leg finds it within its depth. A memory that
    `stands_for` others is recalled in the place of the best of them; `superseded_by` is returned in
    the memory's place. `rerank` is how the second stage scored it, `second_stage` the outcome of
    that stage if it is on. `moved` says in a sentence that it is shown before a memory that it
    updates, or after one that updates it. `note` says if the answer came from somewhere else than
    requested.
    """

    memory: MemoryOut
    recalled: bool
    place: int | None
    limit: int
    fused: float | None
    prior: float
    score: float | None
    legs: dict[LegName, WhyLegOut]
    kept_out: list[ObstacleOut] = Field(description="Empty when the memory is recalled.")
    stands_for: list[UUID] = Field(default=[])
    superseded_by: UUID | None = None
    rerank: RerankPlaceOut | None = None
    second_stage: RerankReportOut | None = None
    moved: str | None = None
    note: str | None = None

    @classmethod
    def from_report(cls, report: WhyReport) -> WhyOut:
        legs = {name: Joined(leg.facts, leg) for name, leg in report.legs.items()}
        return cls.model_validate(Joined(report, legs=legs))

    def to_report(self) -> WhyReport:
        legs = {
            name: build(WhyLeg, leg, facts=build(LegFacts, leg)) for name, leg in self.legs.items()
        }
        return build(WhyReport, self, legs=legs)


WHY: Final[Codec[WhyReport]] = Codec(lambda: (WhyOut, WhyOut.to_report))
