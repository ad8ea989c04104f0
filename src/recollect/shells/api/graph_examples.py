"""Example answers about the concept graph for the documentation."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from recollect.core.graph.model import (
    Concept,
    GraphPath,
    GraphStats,
    Neighbourhood,
    PathStep,
    Relationship,
)
from recollect.shells.api.examples import A_MEMORY
from recollect.wire import graph

_STAGING: Final = UUID("6f1c6f0a-3a55-4b7e-9d55-0e6b7c8d9e01")
_POSTGRES: Final = UUID("6f1c6f0a-3a55-4b7e-9d55-0e6b7c8d9e02")
_CONCEPT: Final = Concept(
    id=_POSTGRES,
    key="postgresql",
    name="PostgreSQL",
    kind="name",
    aliases=("Postgres",),
    mentions=12,
)
_RELATIONSHIP: Final = Relationship(
    id=UUID("6f1c6f0a-3a55-4b7e-9d55-0e6b7c8d9e03"),
    source=_STAGING,
    relation="runs on",
    target=_POSTGRES,
    weight=1.0,
    learned_at=A_MEMORY.created_at,
    valid_from=A_MEMORY.created_at,
    evidence=(A_MEMORY.id,),
)
_STEP: Final = PathStep(
    source=_STAGING,
    source_label="Staging",
    relation="runs on",
    target=_POSTGRES,
    target_label="PostgreSQL",
    evidence=(A_MEMORY.id,),
)
CONCEPT: Final = graph.CONCEPT.encode(_CONCEPT)
NEIGHBOURHOOD: Final = graph.NEIGHBOURHOOD.encode(
    Neighbourhood(
        concept=_CONCEPT,
        relationships=(_RELATIONSHIP,),
        labels={_STAGING: "Staging", _POSTGRES: "PostgreSQL"},
        near=(("PostgreSQL server", 0.91),),
        together=(("pgvector", 4),),
        memories=(A_MEMORY.id,),
    )
)
PATH: Final = graph.PATH.encode(GraphPath((_STEP,)))
STATS: Final = graph.GRAPH_STATS.encode(
    GraphStats(
        version=31,
        memories=120,
        concepts=840,
        aliases=9,
        mentions=2_150,
        relationships=61,
        ended=3,
        withdrawn=1,
        near=14,
        by_kind={"name": 310, "phrase": 480, "code": 50},
        by_relation={"uses": 22, "works at": 7},
        most_mentioned={"PostgreSQL": 12, "Staging": 9},
    )
)
