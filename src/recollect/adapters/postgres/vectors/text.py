"""A vector as pgvector reads it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from recollect.core.recall.space import Space, unit_vector


def vector_text(space: Space, vector: Sequence[float]) -> str:
    """The text of a `halfvec`. ModelUnavailable when it is no vector of this space."""
    return _form(space.dimension) % tuple(unit_vector(space, vector))


@cache
def _form(dimension: int) -> str:
    return f"[{','.join(['%.6g'] * dimension)}]"
