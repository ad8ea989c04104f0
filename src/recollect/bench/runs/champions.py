"""A question to the product: what if the first few of each leg were sure of a place?

Fusion can drop what one leg alone is sure of. Here the first `count` of each leg are kept among the
first ten, the last of the others making room for them; everything else stays in its order. It is
tried on finished rankings, so that it need not be part of the product to be judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from recollect.core.recall.request import LegName

PLACES: Final = 10


def insert_champions(
    ranking: Sequence[str], legs: Mapping[LegName, Sequence[str]], count: int
) -> tuple[str, ...]:
    """The ranking with each leg's first `count` among the first ten, as far as there is room."""
    champions = dict.fromkeys(hit_id for found in legs.values() for hit_id in found[:count])
    first = list(ranking[:PLACES])
    missing = [hit_id for hit_id in champions if hit_id not in first]
    others = [hit_id for hit_id in first if hit_id not in champions]
    leaving = set(others[max(len(others) - len(missing), 0) :])
    kept = [hit_id for hit_id in first if hit_id not in leaving]
    kept += missing[: PLACES - len(kept)]
    return (*kept, *(hit_id for hit_id in ranking if hit_id not in kept))
