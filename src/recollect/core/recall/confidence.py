"""How likely a hit answers the query: one number for people, which means the same for every query.

A score says how far a memory stands out from the others, so even for a query that nothing answers,
the nearest memory has a high one. Confidence starts from what says something whatever else was
found: how near the hit is in meaning (its evidence in the dense leg), or how much of the query its
words hold (`core/recall/relevance.py`), whichever says more. Of two hits with as much, the one that
ranks first is more often right. The longer a query, the less both say, since it is about several
things. How much each counts was fitted to questions with known answers and to prompts that nothing
answers (docs/adr/0065).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log, sqrt
from typing import TYPE_CHECKING, Final

from recollect.core.recall.relevance import hit_relevance

if TYPE_CHECKING:
    from recollect.core.recall.request import Hit, RecallRequest

# Where each begins to make an answer more likely, and where more of it no longer does.
_BY_WORDS: Final = (1.0, 3.5)
_BY_MEANING: Final = (0.45, 0.70)
# The logarithm of the odds that the first hit answers: without relevance, and what all of it adds;
# and what is lost with the logarithm of the place.
_WITHOUT_RELEVANCE: Final = -2.8
_ADDED_BY_RELEVANCE: Final = 2.9
_LOST_BY_PLACE: Final = 1.2
# The length of a query, in characters, for which these are true, and the most that a shorter one
# adds.
_LENGTH: Final = 60
_MAX_BREVITY: Final = 1.5


def confidence(query: str, hit: Hit, place: int) -> float:
    """Return how likely a hit answers the query, from 0 to 1. `place` is the one that ranking gave
    it, from 1.
    """
    dense = hit.legs.get("dense")
    relevance = max(
        _share(hit_relevance(query, hit), *_BY_WORDS),
        _share(0.0 if dense is None else dense.evidence, *_BY_MEANING),
    )
    brevity = min(sqrt(_LENGTH / max(len(query), 1)), _MAX_BREVITY)
    weight = _ADDED_BY_RELEVANCE * relevance - _LOST_BY_PLACE * log(place)
    return 1.0 / (1.0 + exp(-_WITHOUT_RELEVANCE - brevity * weight))


def _share(found: float, least: float, most: float) -> float:
    return min(max((found - least) / (most - least), 0.0), 1.0)


def rate_hits(request: RecallRequest, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with their confidence, in whole percent. None is surer than one that ranks
    before it, because ranking has also compared them with each other. A hit is limited only by
    those before it, so its confidence does not depend on how many are shown.
    """
    by_relevance = request.sort_by == "relevance"
    order = hits if by_relevance else sorted(hits, key=lambda hit: -hit.score)
    found, most = {}, 1.0
    for place, hit in enumerate(order, start=1):
        most = min(most, confidence(request.query, hit, place))
        found[hit.memory.id] = round(most, 2)
    return [replace(hit, confidence=found[hit.memory.id]) for hit in hits]
