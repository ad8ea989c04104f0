"""Example answers for the documentation, built from the shapes so that they stay valid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

from recollect.core.admin.stats import Stats
from recollect.core.errors import InvalidInput
from recollect.core.memory.batch import Remembered
from recollect.core.memory.links import Link
from recollect.core.memory.memory import Memory
from recollect.core.memory.paging import Page
from recollect.core.recall.settings import RecallSettings, SettingChange
from recollect.core.recall.space import EmbeddingStats
from recollect.wire import admin, memory, stats
from recollect.wire.recall import (
    ExplanationOut,
    HitOut,
    LegPlaceOut,
    LegReportOut,
    RecollectionOut,
)
from recollect.wire.why import ObstacleOut, WhyLegOut, WhyOut

_NOW: Final = datetime(2026, 3, 6, 9, 30, 12, 345678, UTC)
_FUSED: Final = 1.0 + RecallSettings().vote  # alone in its leg, with its vote
_PRIOR: Final = 0.7 + 0.3 * 0.7

A_MEMORY: Final = Memory(
    id=UUID("019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9e"),
    owner="me",
    content="The staging database is read-only on Fridays.",
    tags=("staging", "database"),
    expanded_keywords=("postgres", "maintenance window"),
    importance=0.7,
    project="shop",
    created_at=_NOW,
    updated_at=_NOW,
)
A_LINKED: Final = replace(
    A_MEMORY,
    links=(Link("supersedes", UUID("019cb1f0-7c1e-7d3a-9a55-2f0e6b7c8d9e")),),
    version=2,
)
_REFUSED: Final = InvalidInput(
    "the content is empty",
    field="content",
    remedy="Write what should be remembered, as one self-contained statement.",
)
_EMBEDDING: Final = EmbeddingStats(
    space="all-MiniLM-L6-v2@53aa51172d14.int8-1/384", embedded=1, waiting=0, parked=0
)
MEMORY: Final = memory.MEMORY.encode(A_MEMORY)
LINKED: Final = memory.MEMORY.encode(A_LINKED)
HISTORY: Final = memory.HISTORY.encode([A_LINKED, A_MEMORY])
PAGE: Final = memory.PAGE.encode(Page((A_MEMORY,), None))
BATCH: Final = memory.BATCH.encode(
    memory.Batch.of([Remembered(A_MEMORY.id, "stored"), Remembered(None, "refused", _REFUSED)])
)
FORGOTTEN: Final = memory.FORGOTTEN.encode(memory.Forgotten(A_MEMORY.id, forever=False))
STATS: Final = stats.STATS.encode(
    Stats(1, 0, 0, by_category={"fact": 1}, by_project={"shop": 1}, embedding=_EMBEDDING)
)
HEALTH: Final = stats.HealthOut(status="ok")
SETTINGS: Final = admin.SETTINGS.encode(RecallSettings())
RECOLLECTION: Final = RecollectionOut(
    hits=[
        HitOut(
            memory=A_MEMORY,
            score=_FUSED * _PRIOR,
            explanation=ExplanationOut(
                fused=_FUSED,
                prior=_PRIOR,
                legs={
                    "lexical": LegPlaceOut(rank=1, score=2.31, contribution=_FUSED, evidence=0.62)
                },
                rerank=None,
            ),
        )
    ],
    degraded=[],
    fusion="standout",
    took_ms=3.2,
    legs={
        "lexical": LegReportOut(status="ran", weight=1.0, found=1, took_ms=2.1, note=None),
        "dense": LegReportOut(
            status="absent", weight=RecallSettings().dense_weight, found=0, took_ms=0.0, note=None
        ),
        "graph": LegReportOut(status="absent", weight=1.5, found=0, took_ms=0.0, note=None),
    },
    rerank=None,
)
SETTINGS_LOG: Final = admin.SETTINGS_LOG.encode(
    [SettingChange(name="dense_weight", old=None, new=0.5, by="me", at=_NOW)]
)
_BELOW: Final = ObstacleOut(
    kind="below_depth",
    what="it has rank 112 in the lexical leg, which returns 100",
    remedy="Use a more specific query or a narrower scope.",
    leg="lexical",
)
WHY: Final = WhyOut(
    memory=A_MEMORY,
    recalled=False,
    place=None,
    limit=10,
    fused=None,
    prior=_PRIOR,
    score=None,
    legs={
        "lexical": WhyLegOut(
            status="ran",
            weight=1.0,
            depth=100,
            score=0.41,
            rank=112,
            searched=163,
            contribution=None,
            note=None,
            obstacle=_BELOW,
        )
    },
    kept_out=[_BELOW],
)


def of(example: BaseModel | Mapping[str, Any], description: str) -> dict[str, Any]:
    """A response that shows this example."""
    shown = example.model_dump(mode="json") if isinstance(example, BaseModel) else example
    return {"description": description, "content": {"application/json": {"example": shown}}}


LINKS: Final = {
    operation: {"operationId": operation, "parameters": {"reference": "$response.body#/id"}}
    for operation in ("get_memory", "update_memory", "forget_memory")
}
