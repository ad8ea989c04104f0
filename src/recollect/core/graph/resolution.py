"""Whether two names mean one concept.

First by their normalised form, then by what either is also called; both are exact. What is left is
a guess by how near their vectors are, and a wrong guess joins memories that have nothing to do with
each other. So two names are made one only above a threshold that was measured (docs/graph.md), and
only where nothing in them speaks against it: "Python 2" is near "Python 3". Below the threshold
they stay two concepts, joined by an edge that says how near they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from recollect.core.graph.concepts import concept_key

MERGE_FROM: Final = 0.95
"""The similarity from which on two names are one concept (docs/adr/rejected.md)."""

NEAR_FROM: Final = 0.85
"""From here on they are near synonyms: the value that the study in docs/graph.md began with."""

MAX_NEAR: Final = 5

# What is written one way only: another spelling is another thing. Tags and keywords are not
# compared either: of a memory that may leave this machine for a model, only its content does.
_NEVER: Final = frozenset({"url", "path", "code", "version", "year", "tag", "keyword"})
_NUMBER: Final = re.compile(r"\d+")
_ROMAN: Final = re.compile(r"(?=.)m*(cm|cd|d?c{0,3})(xc|xl|l?x{0,3})(ix|iv|v?i{0,3})")
# Words that tell two things of one kind apart: where only one of two names has them, the names
# mean two things. Collected from the pairs that were nearest and different (docs/graph.md).
_TELLING_TEXT: Final = """
north south east west northern southern eastern western central upper lower inner outer
first second third fourth fifth last early mid late old new former junior senior deputy vice
men women male female boys girls
january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter
democratic people authority regional kw kwh
"""
_TELLING: Final = frozenset(_TELLING_TEXT.split())


@dataclass(frozen=True, slots=True)
class PendingConcept:
    """A concept whose name was not compared with the others yet."""

    id: UUID
    owner: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A concept whose name is near."""

    id: UUID
    name: str
    kind: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Resolved:
    """What became of a name: the concept it means, if it means one that was there, else those it
    is near to.
    """

    same: Neighbour | None
    near: tuple[Neighbour, ...]


def is_compared(kind: str) -> bool:
    return kind not in _NEVER


def resolve(
    name: str, neighbours: Sequence[Neighbour], *, merge_from: float = MERGE_FROM
) -> Resolved:
    """What a new name means, by its neighbours, nearest first."""
    same = next(
        (
            neighbour
            for neighbour in neighbours
            if neighbour.similarity >= merge_from and may_mean(name, neighbour.name)
        ),
        None,
    )
    if same is not None:
        return Resolved(same, ())
    near = [neighbour for neighbour in neighbours if neighbour.similarity >= NEAR_FROM]
    return Resolved(None, tuple(near[:MAX_NEAR]))


def may_mean(name: str, other: str) -> bool:
    """Whether nothing in two names speaks against their meaning the same: they hold the same
    numbers, and no word that tells one thing from another stands in only one of them.
    """
    first, second = concept_key(name).split(), concept_key(other).split()
    if _marks(first) != _marks(second):
        return False
    return not (set(first) ^ set(second)) & _TELLING


def _marks(words: Sequence[str]) -> list[str]:
    """Numbers, in digits or Roman, and a single letter at the end; initials before are none."""
    numbers = [number for word in words for number in _NUMBER.findall(word)]
    roman = [word for word in words if len(word) > 1 and _ROMAN.fullmatch(word)]
    letter = [word for word in words[1:][-1:] if len(word) == 1]
    return sorted([*numbers, *roman, *letter])
