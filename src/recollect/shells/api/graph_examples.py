"""Example answers about the concept graph for the documentation."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from recollect.shells.api.examples import MEMORY
from recollect.wire.graph import (
    ConceptOut,
    GraphStatsOut,
    NearOut,
    NeighbourhoodOut,
    PathOut,
    RelationshipOut,
    StepOut,
    TogetherOut,
)

_STAGING: Final = UUID("6f1c6f0a-3a55-4b7e-9d55-0e6b7c8d9e01")
_POSTGRES: Final = UUID("6f1c6f0a-3a55-4b7e-9d55-0e6b7c8d9e02")
CONCEPT: Final = ConceptOut(
    id=_POSTGRES,
    key="postgresql",
    name="PostgreSQL",
    kind="name",
    aliases=["Postgres"],
    mentions=12,
)
NEIGHBOURHOOD: Final = NeighbourhoodOut(
    concept=CONCEPT,
    relationships=[
        RelationshipOut(
            id=UUID("6f1c6f0a-3a55-4b7e-9d55-0e6b7c8d9e03"),
            source=_STAGING,
            source_name="Staging",
            relation="runs on",
            target=_POSTGRES,
            target_name="PostgreSQL",
            weight=1.0,
            learned_at=MEMORY.created_at,
            valid_from=MEMORY.created_at,
            valid_to=None,
            known_until=None,
            evidence=[MEMORY.id],
        )
    ],
    near=[NearOut(name="PostgreSQL server", similarity=0.91)],
    together=[TogetherOut(name="pgvector", memories=4)],
    memories=[MEMORY.id],
)
PATH: Final = PathOut(
    connected=True,
    steps=[
        StepOut(
            source=_STAGING,
            source_label="Staging",
            relation="runs on",
            target=_POSTGRES,
            target_label="PostgreSQL",
            evidence=[MEMORY.id],
        )
    ],
)
STATS: Final = GraphStatsOut(
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
