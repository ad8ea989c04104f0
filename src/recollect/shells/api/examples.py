"""Example answers for the documentation, built from the shapes so that they stay valid."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect.wire.answers import (
    EmbeddingOut,
    ForgottenOut,
    HealthOut,
    HistoryOut,
    MemoryOut,
    PageOut,
    StatsOut,
)
from recollect.wire.batch import BatchItemOut, BatchOut
from recollect.wire.problems import Problem
from recollect.wire.recall import (
    ExplanationOut,
    HitOut,
    LegPlaceOut,
    LegReportOut,
    RecollectionOut,
)
from recollect.wire.settings import SettingChangeOut, SettingsLogOut, SettingsOut
from recollect.wire.values import LinkOut
from recollect.wire.why import ObstacleOut, WhyLegOut, WhyOut

_NOW: Final = datetime(2026, 3, 6, 9, 30, 12, 345678, UTC)
_FUSED: Final = 1.0 + RecallSettings().vote  # alone in its leg, with its vote
_PRIOR: Final = 0.7 + 0.3 * 0.7

MEMORY: Final = MemoryOut(
    id=UUID("019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9e"),
    owner="me",
    content="The staging database is read-only on Fridays.",
    category="fact",
    tags=["staging", "database"],
    expanded_keywords=["postgres", "maintenance window"],
    importance=0.7,
    is_sensitive=False,
    project="shop",
    session=None,
    version=1,
    created_at=_NOW,
    updated_at=_NOW,
)
LINKED: Final = MEMORY.model_copy(
    update={
        "links": [
            LinkOut(kind="supersedes", target=UUID("019cb1f0-7c1e-7d3a-9a55-2f0e6b7c8d9e")),
        ],
        "version": 2,
    }
)
HISTORY: Final = HistoryOut(versions=[LINKED, MEMORY])
PAGE: Final = PageOut(memories=[MEMORY], next_cursor=None)
BATCH: Final = BatchOut(
    stored=1,
    present=0,
    refused=1,
    results=[
        BatchItemOut(id=MEMORY.id, outcome="stored"),
        BatchItemOut(
            id=None,
            outcome="refused",
            problem=Problem.from_error(
                InvalidInput(
                    "the content is empty",
                    field="content",
                    remedy="Write what should be remembered, as one self-contained statement.",
                )
            ),
        ),
    ],
)
FORGOTTEN: Final = ForgottenOut(id=MEMORY.id, forever=False)
STATS: Final = StatsOut(
    memories=1,
    forgotten=0,
    sensitive=0,
    by_category={"fact": 1},
    by_project={"shop": 1},
    embedding=EmbeddingOut(
        space="all-MiniLM-L6-v2@53aa51172d14.int8-1/384",
        embedded=1,
        waiting=0,
        parked=0,
        last_error=None,
    ),
)
HEALTH: Final = HealthOut(status="ok")
SETTINGS: Final = SettingsOut.from_settings(RecallSettings())
RECOLLECTION: Final = RecollectionOut(
    hits=[
        HitOut(
            memory=MEMORY,
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
            status="absent", weight=SETTINGS.dense_weight, found=0, took_ms=0.0, note=None
        ),
        "graph": LegReportOut(status="absent", weight=1.5, found=0, took_ms=0.0, note=None),
    },
    rerank=None,
)
SETTINGS_LOG: Final = SettingsLogOut(
    changes=[SettingChangeOut(name="dense_weight", old=None, new=0.5, by="me", at=_NOW)]
)
_BELOW: Final = ObstacleOut(
    kind="below_depth",
    what="it has rank 112 in the lexical leg, which returns 100",
    remedy="Use a more specific query or a narrower scope.",
    leg="lexical",
)
WHY: Final = WhyOut(
    memory=MEMORY,
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


def of(example: BaseModel, description: str) -> dict[str, Any]:
    """A response that shows this example."""
    return {
        "description": description,
        "content": {"application/json": {"example": example.model_dump(mode="json")}},
    }


LINKS: Final = {
    operation: {"operationId": operation, "parameters": {"reference": "$response.body#/id"}}
    for operation in ("get_memory", "update_memory", "forget_memory")
}
