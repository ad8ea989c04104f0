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
    def from_concept(cls, concept: Concept) -> ConceptOut:
        return cls(**asdict(concept))

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
    def from_relationship(
        cls, relationship: Relationship, labels: dict[UUID, str]
    ) -> RelationshipOut:
        return cls(
            id=relationship.id,
            source=relationship.source,
            source_name=labels[relationship.source],
            relation=relationship.relation,
            target=relationship.target,
            target_name=labels[relationship.target],
            weight=relationship.weight,
            learned_at=relationship.learned_at,
            valid_from=relationship.valid_from,
            valid_to=relationship.valid_to,
            known_until=relationship.known_until,
            evidence=list(relationship.evidence),
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
                RelationshipOut.from_relationship(relationship, found.labels)
                for relationship in found.relationships
            ],
            near=[NearOut(name=name, similarity=near) for name, near in found.near],
            together=[TogetherOut(name=name, memories=many) for name, many in found.together],
            memories=list(found.memories),
        )

    def to_neighbourhood(self) -> Neighbourhood:
        labels = {
            relationship.source: relationship.source_name for relationship in self.relationships
        }
        labels |= {
            relationship.target: relationship.target_name for relationship in self.relationships
        }
        return Neighbourhood(
            concept=self.concept.to_concept(),
            relationships=tuple(
                relationship.to_relationship() for relationship in self.relationships
            ),
            labels=labels,
            near=tuple((near_name.name, near_name.similarity) for near_name in self.near),
            together=tuple((neighbour.name, neighbour.memories) for neighbour in self.together),
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
        return cls(connected=path is not None, steps=[StepOut.from_step(step) for step in steps])

    def to_path(self) -> GraphPath | None:
        if not self.connected:
            return None
        return GraphPath(tuple(step.to_step() for step in self.steps))


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
