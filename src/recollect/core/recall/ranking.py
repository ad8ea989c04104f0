"""From fused scores to the order a caller asked for: the importance prior, sort orders,
and the second stage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from recollect.core.recall.request import Hit, RerankPlace, SortBy

if TYPE_CHECKING:
    from recollect.core.recall.fusion import Fused

# Importance moves a score by at most 30%. How far that moves a memory depends on the fusion:
# reciprocal ranks are so close together that it can rise by two dozen places
# (docs/adr/rejected.md); with `standout`, importance decides among those with little more than
# their votes.
PRIOR_STRENGTH = 0.3


def prior(importance: float, strength: float = PRIOR_STRENGTH) -> float:
    """Return the factor by which importance multiplies a fused score: 1 for importance 1, and 1 −
    strength for importance 0.
    """
    return (1.0 - strength) + strength * importance


class Ranked(NamedTuple):
    """A fused memory with its final score, `fused × prior`."""

    fused: Fused
    prior: float
    score: float
    rerank: RerankPlace | None = None

    @property
    def id(self) -> UUID:
        return self.fused.candidate.id


def rank(fused: Iterable[Fused], sort_by: SortBy, strength: float = PRIOR_STRENGTH) -> list[Ranked]:
    """Sort, best first. `relevance`: fused score × prior; `importance`: importance, then relevance;
    `recency`: newest first. Sorting is stable, so ties keep the order of fusion.
    """
    ranked = [
        Ranked(entry, factor, entry.score * factor)
        for entry in fused
        for factor in (prior(entry.candidate.importance, strength),)
    ]
    ranked.sort(key=attrgetter("score"), reverse=True)
    if sort_by == "importance":
        ranked.sort(key=lambda entry: -entry.fused.candidate.importance)
    elif sort_by == "recency":
        ranked.sort(key=lambda entry: entry.fused.candidate.created_at, reverse=True)
    return ranked


def place_if_vital(
    ranked: Sequence[Ranked], id: UUID, sort_by: SortBy, strength: float = PRIOR_STRENGTH
) -> int:
    """Return the place that a memory would have with importance 1."""
    raised = [
        entry.fused._replace(candidate=entry.fused.candidate._replace(importance=1.0))
        if entry.id == id
        else entry.fused
        for entry in ranked
    ]
    order = rank(raised, sort_by, strength)
    return [entry.id for entry in order].index(id) + 1


def rearrange(ranked: Sequence[Ranked], scores: Mapping[UUID, float]) -> list[Ranked]:
    """Apply the second stage's order. Memories without a score keep their places; the others share
    theirs by score, and ties keep their order.
    """
    judged = [
        (place, entry._replace(rerank=RerankPlace(scores[entry.id], place + 1)))
        for place, entry in enumerate(ranked)
        if entry.id in scores
    ]
    best_first = sorted((entry for _, entry in judged), key=lambda entry: -scores[entry.id])
    order = list(ranked)
    for (place, _), entry in zip(judged, best_first, strict=True):
        order[place] = entry
    return order


def interleave(
    theirs: Sequence[Hit], here: Sequence[Hit], own: Collection[UUID], sort_by: SortBy
) -> list[Hit]:
    """Merge the server's hits with this store's `own` ones among those found `here`, which the
    server cannot have. The server's keep their order, which may be that of a second stage.

    By relevance, an own hit keeps the place that it has among everything found here, since there is
    a copy of everything here. Scores would not do: those of two answers cannot be compared, and a
    memory that alone has a rare word stands out among the hits of another leg, but not by itself.
    """
    order = list(theirs)
    for place, hit in enumerate(here):
        if hit.memory.id not in own:
            continue
        if sort_by != "relevance":
            worth = _worth(hit, sort_by)
            beaten = (at for at, other in enumerate(order) if _worth(other, sort_by) < worth)
            place = next(beaten, len(order))
        order.insert(place, hit)
    return order


def _worth(hit: Hit, sort_by: SortBy) -> tuple[float, ...]:
    if sort_by == "recency":
        return (hit.memory.created_at.timestamp(),)
    return (hit.memory.importance,)
