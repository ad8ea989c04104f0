"""Check a hosted API's answer: vectors that can be stored, or the reason there are none.

Every number is checked, because a vector of the wrong text or size would silently spoil recall.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Final

from recollect.adapters.models.embedders.hosted_providers import Provider
from recollect.adapters.models.hosted.failures import Failure

_CHECK_SERVER: Final = "Check that the address is an embedding API of this kind."


def read_vectors(
    provider: Provider, body: bytes, *, count: int, dimension: int
) -> list[list[float]] | Failure:
    """The vectors in the order of the texts, each of length 1."""
    try:
        numbered = provider.parse(json.loads(body))
        by_place = dict(numbered)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return Failure("sent an answer in the wrong format", _CHECK_SERVER)
    if len(numbered) != count:
        return Failure(f"sent {len(numbered)} vectors for {count} texts", _CHECK_SERVER)
    if set(by_place) != set(range(count)):
        return Failure("did not say which vector belongs to which text", _CHECK_SERVER)
    vectors = [_unit(by_place[place], dimension) for place in range(count)]
    failed = [vector for vector in vectors if isinstance(vector, Failure)]
    return failed[0] if failed else [vector for vector in vectors if isinstance(vector, list)]


def _unit(vector: object, dimension: int) -> list[float] | Failure:
    if not isinstance(vector, Sequence) or isinstance(vector, str):
        return Failure("sent something that is not a vector", _CHECK_SERVER)
    if len(vector) != dimension:
        return Failure(
            f"sent vectors of dimension {len(vector)}, not {dimension}",
            f"Set the dimension to {len(vector)} if this is the right model; that creates "
            "a new space, so run `recollect reembed`.",
        )
    try:
        norm = math.hypot(*vector)
    except (TypeError, OverflowError):
        norm = math.nan
    if not (math.isfinite(norm) and norm > 0):
        return Failure("sent a vector without a direction", _CHECK_SERVER)
    return [number / norm for number in vector]
