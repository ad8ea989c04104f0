"""The answers that the documentation shows. They are built from the shapes, so they stay true."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

from recollect.core.recall_settings import RecallSettings
from recollect.wire import (
    ExplanationOut,
    ForgottenOut,
    HealthOut,
    HitOut,
    LegPlaceOut,
    LegReportOut,
    MemoryOut,
    PageOut,
    RecollectionOut,
    SettingsOut,
    StatsOut,
)

_NOW: Final = datetime(2026, 3, 6, 9, 30, 12, 345678, UTC)
_FUSED: Final = 1 / (60 + 1)
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
PAGE: Final = PageOut(memories=[MEMORY], next_cursor=None)
FORGOTTEN: Final = ForgottenOut(id=MEMORY.id, forever=False)
STATS: Final = StatsOut(
    memories=1, forgotten=0, sensitive=0, by_category={"fact": 1}, by_project={"shop": 1}
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
                legs={"lexical": LegPlaceOut(rank=1, score=2.31, contribution=_FUSED)},
            ),
        )
    ],
    degraded=[],
    fusion="rrf",
    took_ms=3.2,
    legs={
        "lexical": LegReportOut(status="ran", weight=1.0, found=1, took_ms=2.1, note=None),
        "dense": LegReportOut(status="absent", weight=1.0, found=0, took_ms=0.0, note=None),
        "graph": LegReportOut(status="absent", weight=0.35, found=0, took_ms=0.0, note=None),
    },
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
