"""Whether two names mean one concept.

First by their normal form, then by their aliases; both are exact. The rest is a guess by the
distance of their vectors, and a wrong guess connects memories that have nothing to do with each
other. So two names are merged only above a measured threshold (docs/graph.md), and only if nothing
in them speaks against it: "Python 2" is near "Python 3". Below the threshold they stay two
concepts, connected by an edge with their similarity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from recollect.core.graph.concepts import concept_key

MIN_MERGE_SIMILARITY: Final = 0.95
"""From this similarity on, two names are one concept (docs/adr/rejected.md)."""

MIN_NEAR_SIMILARITY: Final = 0.85
"""From this similarity on, they are near synonyms: the initial value of the study in
docs/graph.md."""

MAX_NEAR: Final = 5

# Kinds with only one spelling: another spelling is another thing. Tags and keywords are not
# compared either: of a memory that may be sent to a model on another machine, only the content is.
_NEVER: Final = frozenset({"url", "path", "code", "version", "year", "tag", "keyword"})
_NUMBER: Final = re.compile(r"\d+")
_ROMAN: Final = re.compile(r"(?=.)m*(cm|cd|d?c{0,3})(xc|xl|l?x{0,3})(ix|iv|v?i{0,3})")
# Words that distinguish two things of one kind: if only one of two names has them, the names mean
# two things. Collected from the nearest pairs that were different (docs/graph.md).
_DISTINGUISHING_TEXT: Final = """
north south east west northern southern eastern western central upper lower inner outer
first second third fourth fifth last early mid late old new former junior senior deputy vice
men women male female boys girls
january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter
democratic people authority regional kw kwh
"""
_DISTINGUISHING: Final = frozenset(_DISTINGUISHING_TEXT.split())


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
    """The resolution of a name: the existing concept that it means, if any, else those that it is
    near to.
    """

    same: Neighbour | None
    near: tuple[Neighbour, ...]


def is_compared(kind: str) -> bool:
    return kind not in _NEVER


def resolve(
    name: str, neighbours: Sequence[Neighbour], *, merge_from: float = MIN_MERGE_SIMILARITY
) -> Resolved:
    """Find what a new name means, given its neighbours, nearest first."""
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
    near = [neighbour for neighbour in neighbours if neighbour.similarity >= MIN_NEAR_SIMILARITY]
    return Resolved(None, tuple(near[:MAX_NEAR]))


def may_mean(name: str, other: str) -> bool:
    """Whether two names may mean the same: they have the same numbers, and no distinguishing word
    is in only one of them.
    """
    first, second = concept_key(name).split(), concept_key(other).split()
    if _marks(first) != _marks(second):
        return False
    return not (set(first) ^ set(second)) & _DISTINGUISHING


def _marks(words: Sequence[str]) -> list[str]:
    """Return the numbers, in digits or Roman, and a single letter at the end; initials before do
    not count.
    """
    numbers = [number for word in words for number in _NUMBER.findall(word)]
    roman = [word for word in words if len(word) > 1 and _ROMAN.fullmatch(word)]
    letter = [word for word in words[1:][-1:] if len(word) == 1]
    return sorted([*numbers, *roman, *letter])
