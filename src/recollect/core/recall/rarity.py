"""How much a word says, by how few memories hold it."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from math import log
from typing import Final

MIN_ROWS: Final = 20
"""An owner with fewer memories counts as one with so many: a word that two of three memories hold
is not known to be a common one. A background that says nothing of any owner."""

MAX_ASKED: Final = 24
"""A long prompt is about several things: no memory has to hold more than so many of its words."""


def idf(rows: int, frequency: int) -> float:
    """The BM25 form, never negative."""
    return log(1 + (rows - frequency + 0.5) / (frequency + 0.5))


def most_information(words: Iterable[float]) -> float:
    """What a memory holds at most of a query whose words weigh this much: its rarest ones."""
    return sum(nlargest(MAX_ASKED, words))
