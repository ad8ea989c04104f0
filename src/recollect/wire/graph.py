"""The concept graph as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field

from recollect.core.graph.model import (
    Concept,
    GraphPath,
    GraphStats,
    Neighbourhood,
    PathStep,
    Relationship,
)
from recollect.wire.values import NOT_BLANK, Input, Moment, Shape

ConceptName = Annotated[
    str, Field(json_schema_extra={"minLength": 1, "maxLength": 200, "pattern": NOT_BLANK})
]


class ConceptOut(Shape):
    """A concept: its name, its other names, and how many memories mention it."""

    id: UUID
    key: str
    name: str
    kind: str
    aliases: list[str]
    mentions: int

    @classmethod
    def from_concept(cls, one: Concept) -> ConceptOut:
        return cls(**asdict(one))

    def to_concept(self) -> Concept:
        return Concept(**(dict(self) | {"aliases": tuple(self.aliases)}))


class RelationshipOut(Shape):
    """A relationship with its dates and the memories that state it. It was true from `valid_from`
    until `valid_to`, and believed from `learned_at` until `known_until`.
    """

    id: UUID
    source: UUID
    source_name: str
    relation: str
    target: UUID
    target_name: str
    weight: float
    learned_at: Moment
    valid_from: Moment
    valid_to: Moment | None
    known_until: Moment | None
    evidence: list[UUID]

    @classmethod
    def from_relationship(cls, one: Relationship, labels: dict[UUID, str]) -> RelationshipOut:
        return cls(
            id=one.id,
            source=one.source,
            source_name=labels[one.source],
            relation=one.relation,
            target=one.target,
            target_name=labels[one.target],
            weight=one.weight,
            learned_at=one.learned_at,
            valid_from=one.valid_from,
            valid_to=one.valid_to,
            known_until=one.known_until,
            evidence=list(one.evidence),
        )

    def to_relationship(self) -> Relationship:
        return Relationship(
            id=self.id,
            source=self.source,
            target=self.target,
            relation=self.relation,
            weight=self.weight,
            learned_at=self.learned_at,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            known_until=self.known_until,
            evidence=tuple(self.evidence),
        )


class NearOut(Shape):
    """A concept with a similar name."""

    name: str
    similarity: float


class TogetherOut(Shape):
    """A concept that the same memories mention, and how many do."""

    name: str
    memories: int


class NeighbourhoodOut(Shape):
    """A concept and its neighbours."""

    concept: ConceptOut
    relationships: list[RelationshipOut]
    near: list[NearOut]
    together: list[TogetherOut]
    memories: list[UUID]

    @classmethod
    def from_neighbourhood(cls, found: Neighbourhood) -> NeighbourhoodOut:
        return cls(
            concept=ConceptOut.from_concept(found.concept),
            relationships=[
                RelationshipOut.from_relationship(one, found.labels) for one in found.relationships
            ],
            near=[NearOut(name=name, similarity=near) for name, near in found.near],
            together=[TogetherOut(name=name, memories=many) for name, many in found.together],
            memories=list(found.memories),
        )

    def to_neighbourhood(self) -> Neighbourhood:
        labels = {one.source: one.source_name for one in self.relationships}
        labels |= {one.target: one.target_name for one in self.relationships}
        return Neighbourhood(
            concept=self.concept.to_concept(),
            relationships=tuple(one.to_relationship() for one in self.relationships),
            labels=labels,
            near=tuple((one.name, one.similarity) for one in self.near),
            together=tuple((one.name, one.memories) for one in self.together),
            memories=tuple(self.memories),
        )


class StepOut(Shape):
    """One step of a path, as stated, with memories that state it."""

    source: UUID
    source_label: str
    relation: str
    target: UUID
    target_label: str
    evidence: list[UUID]

    @classmethod
    def from_step(cls, step: PathStep) -> StepOut:
        return cls(**asdict(step))

    def to_step(self) -> PathStep:
        return PathStep(**(dict(self) | {"evidence": tuple(self.evidence)}))


class PathOut(Shape):
    """How two concepts connect; `connected` is false if there is no path."""

    connected: bool
    steps: list[StepOut]

    @classmethod
    def from_path(cls, path: GraphPath | None) -> PathOut:
        steps = () if path is None else path.steps
        return cls(connected=path is not None, steps=[StepOut.from_step(one) for one in steps])

    def to_path(self) -> GraphPath | None:
        if not self.connected:
            return None
        return GraphPath(tuple(one.to_step() for one in self.steps))


class GraphStatsOut(Shape):
    """A graph in numbers. Of the relationships, `ended` are no longer true and `withdrawn` are no
    longer stated by any text.
    """

    version: int
    memories: int
    concepts: int
    aliases: int
    mentions: int
    relationships: int
    ended: int
    withdrawn: int
    near: int
    by_kind: dict[str, int]
    by_relation: dict[str, int]
    most_mentioned: dict[str, int]

    @classmethod
    def from_stats(cls, stats: GraphStats) -> GraphStatsOut:
        return cls(**asdict(stats))

    def to_stats(self) -> GraphStats:
        return GraphStats(**dict(self))


class MergeIn(Input):
    """Two concepts that are the same: names of `other` mean `into` from now on."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"into": "PostgreSQL", "other": "Postgres"}]}
    )

    into: ConceptName
    other: ConceptName


class SplitIn(Input):
    """A name that means something other than its concept."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"concept": "Python", "alias": "Monty Python"}]}
    )

    concept: ConceptName
    alias: ConceptName
