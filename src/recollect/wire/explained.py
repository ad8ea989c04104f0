"""Why a memory is recalled or is not, as it is sent."""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from pydantic import Field

from recollect.core.recall.explain import LegFacts, Obstacle, ObstacleKind, WhyLeg, WhyReport
from recollect.core.recall.request import LegName, LegStatus, Reason, RerankPlace, RerankReport
from recollect.wire.answers import MemoryOut
from recollect.wire.recalled import RerankPlaceOut, RerankReportOut
from recollect.wire.values import Shape


class ObstacleOut(Shape):
    """One thing that kept the memory out, or out of one leg, and what would remove it."""

    kind: ObstacleKind
    what: str
    remedy: str
    leg: LegName | None

    @classmethod
    def from_obstacle(cls, one: Obstacle) -> ObstacleOut:
        return cls(kind=one.kind, what=one.what, remedy=one.remedy, leg=one.leg)

    def to_obstacle(self) -> Obstacle:
        return Obstacle(self.kind, self.what, self.remedy, self.leg)


class WhyLegOut(Shape):
    """What one leg says of the memory."""

    status: LegStatus
    weight: float
    depth: int = Field(description="How many a recall asks this leg for.")
    score: float | None = Field(description="Null when the leg does not find the memory at all.")
    rank: int | None = Field(
        description="Down to 10,000; for a memory that is not allowed in, the rank it would have. "
        "Null when it is not found, or where the leg stops looking before it."
    )
    searched: int = Field(description="How many of the leg's answer were looked through.")
    contribution: float | None = Field(description="What the leg adds to the fused score.")
    note: str | None
    obstacle: ObstacleOut | None
    reason: Reason | None = Field(
        default=None, description="Why the leg had nothing to say to this query, if so."
    )
    parked: str | None = Field(
        default=None, description="With what its text failed too often to be embedded, if it did."
    )

    @classmethod
    def from_leg(cls, leg: WhyLeg) -> WhyLegOut:
        facts = leg.facts
        return cls(
            status=facts.status,
            weight=facts.weight,
            depth=facts.depth,
            score=facts.score,
            rank=facts.rank,
            searched=facts.searched,
            contribution=leg.contribution,
            note=facts.note,
            obstacle=None if leg.obstacle is None else ObstacleOut.from_obstacle(leg.obstacle),
            reason=facts.reason,
            parked=facts.parked,
        )

    def to_leg(self) -> WhyLeg:
        return WhyLeg(
            LegFacts(
                self.status,
                self.weight,
                self.depth,
                self.score,
                self.rank,
                self.searched,
                self.note,
                self.reason,
                self.parked,
            ),
            self.contribution,
            None if self.obstacle is None else self.obstacle.to_obstacle(),
        )


class WhyOut(Shape):
    """Why the memory is recalled or is not. `place` is where it stands in the whole order, or would
    stand if it were allowed in; null when no leg brings it within its depth. A memory that
    `stands_for` others is recalled in the place of the best of them; `superseded_by` is who stands
    in the memory's own place. `rerank` is what the second stage said of it, `second_stage` what
    became of that where it is on. `note` says when the answer came from
    elsewhere than was asked.
    """

    memory: MemoryOut
    recalled: bool
    place: int | None
    limit: int
    fused: float | None
    bonus: float
    prior: float
    score: float | None
    legs: dict[LegName, WhyLegOut]
    kept_out: list[ObstacleOut] = Field(description="Empty when the memory is recalled.")
    stands_for: list[UUID] = Field(default=[])
    superseded_by: UUID | None = None
    rerank: RerankPlaceOut | None = None
    second_stage: RerankReportOut | None = None
    note: str | None = None

    @classmethod
    def from_report(cls, report: WhyReport) -> WhyOut:
        judged, stage = report.rerank, report.second_stage
        return cls(
            memory=MemoryOut.from_memory(report.memory),
            recalled=report.recalled,
            place=report.place,
            limit=report.limit,
            fused=report.fused,
            bonus=report.bonus,
            prior=report.prior,
            score=report.score,
            legs={name: WhyLegOut.from_leg(leg) for name, leg in report.legs.items()},
            kept_out=[ObstacleOut.from_obstacle(one) for one in report.kept_out],
            stands_for=[*report.stands_for],
            superseded_by=report.superseded_by,
            rerank=None if judged is None else RerankPlaceOut(**asdict(judged)),
            second_stage=None if stage is None else RerankReportOut(**asdict(stage)),
            note=report.note,
        )

    def to_report(self) -> WhyReport:
        return WhyReport(
            memory=self.memory.to_memory(),
            recalled=self.recalled,
            place=self.place,
            limit=self.limit,
            fused=self.fused,
            bonus=self.bonus,
            prior=self.prior,
            score=self.score,
            legs={name: leg.to_leg() for name, leg in self.legs.items()},
            kept_out=tuple(one.to_obstacle() for one in self.kept_out),
            stands_for=tuple(self.stands_for),
            superseded_by=self.superseded_by,
            rerank=None if self.rerank is None else RerankPlace(**dict(self.rerank)),
            second_stage=None
            if self.second_stage is None
            else RerankReport(**dict(self.second_stage)),
            note=self.note,
        )
