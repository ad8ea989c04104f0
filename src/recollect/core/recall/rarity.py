"""How much a word says, by how few memories hold it."""

from __future__ import annotations

from math import log
from typing import Final

FEWEST_ROWS: Final = 20
"""An owner with fewer memories counts as one with so many: a word that two of three memories hold
is not known to be a common one. A background that says nothing of any owner."""


def idf(rows: int, frequency: int) -> float:
    """The BM25 form, never negative."""
    return log(1 + (rows - frequency + 0.5) / (frequency + 0.5))
