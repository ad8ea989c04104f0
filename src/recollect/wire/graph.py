"""The concept graph as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field

from recollect.core.graph.model import (
    Concept,
    GraphPath,
    GraphStats,
    Neighbourhood,
    PathStep,
    Relationship,
)
from recollect.wire.codec import Codec, codec
from recollect.wire.values import NOT_BLANK, Input, Shape

ConceptName = Annotated[
    str, Field(json_schema_extra={"minLength": 1, "maxLength": 200, "pattern": NOT_BLANK})
]
CONCEPT: Final = codec(
    Concept,
    "ConceptOut",
    """A concept: its name, its other names, and how many memories mention it.""",
)
RELATIONSHIP: Final = codec(
    Relationship,
    "RelationshipOut",
    """A relationship with its dates and the memories that state it. It was true from `valid_from`
    until `valid_to`, and believed from `learned_at` until `known_until`.
    """,
    source_name={"type": str},
    target_name={"type": str},
)


class NearOut(Shape):
    """A concept with a similar name."""

    name: str
    similarity: float


class TogetherOut(Shape):
    """A concept that the same memories mention, and how many do."""

    name: str
    memories: int


def _write_neighbourhood(found: Neighbourhood) -> dict[str, object]:
    return {
        "concept": found.concept,
        "relationships": [
            {
                **asdict(each),
                "source_name": found.labels[each.source],
                "target_name": found.labels[each.target],
            }
            for each in found.relationships
        ],
        "near": [NearOut(name=name, similarity=near) for name, near in found.near],
        "together": [TogetherOut(name=name, memories=many) for name, many in found.together],
        "memories": found.memories,
    }


def _read_neighbourhood(found: Any, values: dict[str, Any]) -> Neighbourhood:  # noqa: ANN401  # its shape
    sources = {each.source: each.source_name for each in found.relationships}
    targets = {each.target: each.target_name for each in found.relationships}
    values["labels"] = sources | targets
    values["near"] = tuple((each.name, each.similarity) for each in found.near)
    values["together"] = tuple((each.name, each.memories) for each in found.together)
    return Neighbourhood(**values)


NEIGHBOURHOOD: Final = codec(
    Neighbourhood,
    "NeighbourhoodOut",
    """A concept and its neighbours.""",
    without={"labels": {}},
    write=_write_neighbourhood,
    read=_read_neighbourhood,
    near={"type": list[NearOut]},
    together={"type": list[TogetherOut]},
)
STEP: Final = codec(
    PathStep,
    "StepOut",
    """One step of a path, as stated, with memories that state it.""",
)
PATH: Final[Codec[GraphPath | None]] = codec(
    GraphPath,
    "PathOut",
    """How two concepts connect; `connected` is false if there is no path.""",
    write=lambda path: {"connected": path is not None, "steps": () if path is None else path.steps},
    read=lambda found, values: GraphPath(**values) if found.connected else None,
    connected={"type": bool},
)
GRAPH_STATS: Final = codec(
    GraphStats,
    "GraphStatsOut",
    """A graph in numbers. Of the relationships, `ended` are no longer true and `withdrawn` are no
    longer stated by any text.
    """,
)


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
