"""Why a memory is or is not recalled, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final
from uuid import UUID

from pydantic import Field

from recollect.core.recall.explain import LegFacts, Obstacle, ObstacleKind, WhyLeg, WhyReport
from recollect.core.recall.request import LegName, LegStatus, Reason, RerankReport
from recollect.wire.codec import Codec
from recollect.wire.memory import MEMORY
from recollect.wire.recall import MemoryOut, RerankPlaceOut, RerankReportOut
from recollect.wire.values import Shape


class ObstacleOut(Shape):
    """Something that kept the memory out, or out of one leg, and what would remove it."""

    kind: ObstacleKind
    what: str
    remedy: str
    leg: LegName | None

    @classmethod
    def from_obstacle(cls, obstacle: Obstacle) -> ObstacleOut:
        return cls(kind=obstacle.kind, what=obstacle.what, remedy=obstacle.remedy, leg=obstacle.leg)

    def to_obstacle(self) -> Obstacle:
        return Obstacle(self.kind, self.what, self.remedy, self.leg)


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
        judged, stage = report.rerank, report.second_stage
        return cls(
            memory=MEMORY.to_shape(report.memory),
            recalled=report.recalled,
            place=report.place,
            limit=report.limit,
            fused=report.fused,
            prior=report.prior,
            score=report.score,
            legs={name: WhyLegOut.from_leg(leg) for name, leg in report.legs.items()},
            kept_out=[ObstacleOut.from_obstacle(obstacle) for obstacle in report.kept_out],
            stands_for=[*report.stands_for],
            superseded_by=report.superseded_by,
            rerank=None if judged is None else RerankPlaceOut.from_place(judged),
            second_stage=None if stage is None else RerankReportOut(**asdict(stage)),
            moved=report.moved,
            note=report.note,
        )

    def to_report(self) -> WhyReport:
        return WhyReport(
            memory=MEMORY.read(self.memory),
            recalled=self.recalled,
            place=self.place,
            limit=self.limit,
            fused=self.fused,
            prior=self.prior,
            score=self.score,
            legs={name: leg.to_leg() for name, leg in self.legs.items()},
            kept_out=tuple(obstacle.to_obstacle() for obstacle in self.kept_out),
            stands_for=tuple(self.stands_for),
            superseded_by=self.superseded_by,
            rerank=None if self.rerank is None else self.rerank.to_place(),
            second_stage=None
            if self.second_stage is None
            else RerankReport(**dict(self.second_stage)),
            moved=self.moved,
            note=self.note,
        )


WHY: Final[Codec[WhyReport]] = Codec(lambda: (WhyOut, WhyOut.to_report))
