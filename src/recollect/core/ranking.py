"""From fused scores to the order a caller asked for: the importance prior and the sort orders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from recollect.core.fusion import Fused
from recollect.core.recall import SortBy

# The spec's prior: importance moves a memory by at most 30%, so it can settle a close call but
# cannot bring an unrelated memory to the top.
PRIOR_BASE = 0.7
PRIOR_SPAN = 0.3


def prior(importance: float) -> float:
    """The factor that importance puts on a fused score."""
    return PRIOR_BASE + PRIOR_SPAN * importance


@dataclass(frozen=True, slots=True)
class Ranked:
    """A fused memory with its final score."""

    fused: Fused
    prior: float
    score: float


def rank(fused: Iterable[Fused], sort_by: SortBy) -> list[Ranked]:
    """Best first. `relevance`: fused score × prior; `importance`: importance, then relevance;
    `recency`: newest first. Sorting is stable, so ties keep the order of fusion.
    """
    ranked = [
        Ranked(one, factor, one.score * factor)
        for one in fused
        for factor in (prior(one.candidate.importance),)
    ]
    ranked.sort(key=lambda one: -one.score)
    if sort_by == "importance":
        ranked.sort(key=lambda one: -one.fused.candidate.importance)
    elif sort_by == "recency":
        ranked.sort(key=lambda one: one.fused.candidate.created_at, reverse=True)
    return ranked
