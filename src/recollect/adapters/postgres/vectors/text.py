"""A vector as pgvector reads it. Checked here, so that a model that answers wrongly is named as the
culprit, and never a statement that Postgres refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import hypot, isfinite

from recollect.core.errors import ModelUnavailable
from recollect.core.recall.space import Space


def vector_text(space: Space, vector: Sequence[float]) -> str:
    """The text of a `halfvec`. ModelUnavailable when it is no vector of this space."""
    if len(vector) != space.dimension:
        raise _wrong(space, f"{len(vector)} numbers, not {space.dimension}")
    length = hypot(*vector)
    if not isfinite(length) or length == 0.0:
        raise _wrong(space, "a vector without a direction")
    # Length 1, whatever the model says: cosine is the same, and 16 bits are used where they count.
    return _form(space.dimension) % tuple([number / length for number in vector])


@cache
def _form(dimension: int) -> str:
    return f"[{','.join(['%.6g'] * dimension)}]"


def _wrong(space: Space, found: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"the model {space.model} answered with {found}",
        remedy="Check that RECOLLECT_EMBEDDER names the model that this space was made with.",
    )
