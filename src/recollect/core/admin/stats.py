"""What an owner has stored, and how far the work on it is, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a command on the local store has neither
    from recollect.core.graph.model import ExtractionProgress
    from recollect.core.recall.space import EmbeddingStats


@dataclass(frozen=True, slots=True)
class Stats:
    """What an owner has stored, in numbers."""

    memories: int
    forgotten: int
    sensitive: int
    by_category: dict[str, int] = field(default_factory=dict)
    by_project: dict[str, int] = field(default_factory=dict)
    embedding: EmbeddingStats | None = None
    graph: ExtractionProgress | None = None
