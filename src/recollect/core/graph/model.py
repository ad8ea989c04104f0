"""The concept graph as values: what a walk reads, an explanation names, and a person sees.

A memory mentions concepts; relationships connect concepts, and each has two periods: when it was
true, and when we believed it. See docs/graph.md.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

# How two nodes are connected if no text states a relation.
MENTIONS: Final = "mentions"
MENTIONED_TOGETHER: Final = "mentioned together"
NEAR: Final = "near synonym"


@dataclass(frozen=True, slots=True)
class Concept:
    """A node. `key` is its normalised form and `aliases` are the other names it is known by;
    `mentions` counts the memories that mention it.
    """

    id: UUID
    key: str
    name: str
    kind: str
    aliases: tuple[str, ...] = ()
    mentions: int = 0


@dataclass(frozen=True, slots=True)
class Relationship:
    """A typed edge between two concepts, with the memories that state it.

    It was true from `valid_from` until `valid_to`; we learned it at `learned_at` and believed it
    until `known_until`, when the last text that stated it was changed.
    """

    id: UUID
    source: UUID
    target: UUID
    relation: str
    weight: float
    learned_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    known_until: datetime | None = None
    evidence: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """Everything that a walk needs of one owner's graph, as columns that are directly converted to
    a matrix.

    A mention is a row of the three `mention_` columns, and an edge a row of the `edge_` columns:
    the indexes point into `memories` and `concepts`; `labels` and `kinds` are parallel to
    `concepts`. Edges are typed relationships and, the last `near` of them, near-synonyms, each
    once, direction as stored. `by_model` is the share of the memories that a language model has
    read, or that an imported file covers. `version` is that of the graph when it was read, or an
    older one, but never a newer one.
    """

    version: int
    memories: tuple[UUID, ...] = ()
    concepts: tuple[UUID, ...] = ()
    labels: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    mention_memories: array[int] = field(default_factory=lambda: array("i"))
    mention_concepts: array[int] = field(default_factory=lambda: array("i"))
    mention_weights: array[float] = field(default_factory=lambda: array("f"))
    edge_sources: array[int] = field(default_factory=lambda: array("i"))
    edge_targets: array[int] = field(default_factory=lambda: array("i"))
    edge_weights: array[float] = field(default_factory=lambda: array("f"))
    near: int = 0
    by_model: float = 0.0


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of a path: from one concept to the next by a relation, with the memories that state
    it. Source and target are as stated, so a path may go through a step backwards. A step from a
    memory to a concept, or back, has the relation `mentions` and no label there.
    """

    source: UUID
    source_label: str
    relation: str
    target: UUID
    target_label: str
    evidence: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphPath:
    """How two things are connected. Without a step, both are the same."""

    steps: tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A concept and what is around it: relationships, near synonyms with their similarity, what is
    mentioned together with it and how often, and the latest memories that mention it. `labels`
    names every concept in a relationship.
    """

    concept: Concept
    relationships: tuple[Relationship, ...]
    labels: dict[UUID, str]
    near: tuple[tuple[str, float], ...]
    together: tuple[tuple[str, int], ...]
    memories: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class GraphStats:
    """An owner's graph in numbers. Of the relationships, `ended` are no longer true and `withdrawn`
    are no longer stated by any text.
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


@dataclass(frozen=True, slots=True)
class ExtractionProgress:
    """How far the reading of memories for the graph is, for an owner or for all. `parked` ones
    failed too often; of those that wait, `failing` have failed and are retried later; `to_compare`
    are names not yet compared with the others; calls and tokens are those of a language model.
    """

    extracted: int
    waiting: int
    parked: int
    last_error: str | None = None
    to_compare: int = 0
    calls_today: int = 0
    tokens_today: int = 0
    failing: int = 0
