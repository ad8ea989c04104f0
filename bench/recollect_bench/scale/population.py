"""Owners and their memories: the same for the same seed, in a fixed order.

The first n memories of a population do not depend on how many are stored in the end, so a fill can
stop anywhere and continue from the number of stored memories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from random import Random
from typing import Final
from uuid import UUID

from recollect_bench.speed.copying import NamedConcept
from recollect_bench.speed.corpus import Corpus

LARGE_OWNER: Final = 100_000
"""The memories of the largest of many owners, but at most a tenth of all."""
MIN_ASKED: Final = 10
"""An owner with fewer memories is stored but not asked: there is too little to choose from."""
ROWS_PER_CONCEPT: Final = 4
MENTIONS: Final = 2
# Each memory mentions two recent concepts: that makes about eight memories per concept, within what
# the graph walks over (core/graph/walk.py).
_RECENT_CONCEPTS: Final = 20


@dataclass(frozen=True, slots=True)
class Owner:
    number: int
    rows: int

    @property
    def name(self) -> str:
        return f"owner-{self.number}"


@dataclass(frozen=True, slots=True)
class Slice:
    """Some memories of one owner: from `first` up to but not including `last`."""

    owner: Owner
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Population:
    """Owners in the order in which they are filled."""

    seed: int
    owners: tuple[Owner, ...]
    _base: Corpus = field(repr=False)

    @classmethod
    def single(cls, rows: int, seed: int) -> Population:
        return cls(seed, (Owner(0, rows),), Corpus.seeded(seed))

    @classmethod
    def mixed(cls, owners: int, total: int, seed: int) -> Population:
        """Create one large owner, and the others by Zipf's law. One of average size is first."""
        large = min(LARGE_OWNER, total // 10)
        sizes = _zipf(owners - 1, total - large)
        everyone = [Owner(0, large), *(Owner(n, rows) for n, rows in enumerate(sizes, start=1))]
        average = total / owners
        small = min(everyone, key=lambda owner: abs(owner.rows - average))
        others = [owner for owner in everyone if owner is not small]
        return cls(seed, (small, *others), Corpus.seeded(seed))

    @property
    def rows(self) -> int:
        return sum(owner.rows for owner in self.owners)

    @property
    def small(self) -> Owner:
        return self.owners[0]

    @property
    def large(self) -> Owner:
        return max(self.owners, key=lambda owner: owner.rows)

    def some(self, count: int) -> list[Owner]:
        """Draw owners to ask, all equally likely."""
        eligible = [owner for owner in self.owners if owner.rows >= MIN_ASKED]
        return Random(self.seed).sample(eligible, min(count, len(eligible)))

    def corpus(self, owner: Owner) -> Corpus:
        return replace(self._base, seed=self.seed + owner.number, owner=owner.name)

    def slices(self, first: int, last: int) -> Iterator[Slice]:
        """Yield the memories `first` to `last` of the population, owner by owner."""
        begin = 0
        for owner in self.owners:
            end = begin + owner.rows
            if end > first and begin < last:
                yield Slice(owner, max(first - begin, 0), min(last - begin, owner.rows))
            begin = end

    def concept(self, corpus: Corpus, number: int) -> NamedConcept:
        digest = sha256(f"{self.seed} {corpus.owner} {number}".encode()).digest()
        return NamedConcept.numbered(corpus, number, UUID(bytes=digest[:16]))


def list_mentions(corpus: Corpus, memory: int) -> set[int]:
    """Return the numbers of the concepts that a memory mentions."""
    random = Random(corpus.seed * 1_000_003 + memory)
    latest = memory // ROWS_PER_CONCEPT
    return {max(0, latest - random.randrange(_RECENT_CONCEPTS)) for _ in range(MENTIONS)}


def _zipf(owners: int, total: int) -> list[int]:
    """Distribute by Zipf's law, at least one each; the first gets the rounding remainder."""
    harmonic = sum(1 / rank for rank in range(1, owners + 1))
    spread = total - owners
    sizes = [1 + int(spread / rank / harmonic) for rank in range(1, owners + 1)]
    sizes[0] += total - sum(sizes)
    return sizes
