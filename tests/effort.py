"""How thorough a run is: `make test` takes a sample where `make test-all` tries everything.

RECOLLECT_TEST_EFFORT multiplies the number of examples, kills and histories: 1 in `make test-all`,
0.2 in `make test`, 10 for a soak test.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

import pytest

EFFORT: Final = float(os.environ.get("RECOLLECT_TEST_EFFORT", "1"))


def scaled(count: int, *, at_least: int = 1) -> int:
    return max(at_least, round(count * EFFORT))


def sample(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Return parameters of which all but the first `count` are marked slow."""
    every = list(values)
    rest = [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
        for value in every[count:]
    ]
    return [*every[:count], *rest]
