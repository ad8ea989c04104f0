"""Who owns how many memories, and what they are: the same for the same seed, in a fixed order.

The first n memories of a population are the same whatever is stored in the end, so a fill can stop
anywhere and continue from the number of memories that are there.
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
"""What the largest owner of many has, but no more than a tenth of all."""
MIN_ASKED: Final = 10
"""An owner with fewer memories is stored, but asked nothing: there is nothing to choose from."""
ROWS_PER_CONCEPT: Final = 4
MENTIONS: Final = 2
# Two mentions a memory, of concepts that came up lately: about eight memories for each concept,
# within what the graph walks over (core/graph/walk.py).
_LATELY: Final = 20


@dataclass(frozen=True, slots=True)
class Owner:
    number: int
    rows: int

    @property
    def name(self) -> str:
        return f"owner-{self.number}"


@dataclass(frozen=True, slots=True)
class Slice:
    """Some memories of one owner: from `first` up to, not including, `last`."""

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
        """One large owner, and the others by Zipf's law. One of average size comes first."""
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
        """Owners to ask, each as likely as any other."""
        asked = [owner for owner in self.owners if owner.rows >= MIN_ASKED]
        return Random(self.seed).sample(asked, min(count, len(asked)))

    def corpus(self, owner: Owner) -> Corpus:
        return replace(self._base, seed=self.seed + owner.number, owner=owner.name)

    def slices(self, first: int, last: int) -> Iterator[Slice]:
        """The memories from number `first` up to `last` of all, owner by owner."""
        begin = 0
        for owner in self.owners:
            end = begin + owner.rows
            if end > first and begin < last:
                yield Slice(owner, max(first - begin, 0), min(last - begin, owner.rows))
            begin = end

    def concept(self, corpus: Corpus, number: int) -> NamedConcept:
        digest = sha256(f"{self.seed} {corpus.owner} {number}".encode()).digest()
        return NamedConcept.numbered(corpus, number, UUID(bytes=digest[:16]))


def mentioned(corpus: Corpus, memory: int) -> set[int]:
    """The numbers of the concepts that a memory mentions."""
    random = Random(corpus.seed * 1_000_003 + memory)
    latest = memory // ROWS_PER_CONCEPT
    return {max(0, latest - random.randrange(_LATELY)) for _ in range(MENTIONS)}


def _zipf(owners: int, total: int) -> list[int]:
    """At least one for each; what rounding leaves over goes to the first."""
    harmonic = sum(1 / rank for rank in range(1, owners + 1))
    spread = total - owners
    sizes = [1 + int(spread / rank / harmonic) for rank in range(1, owners + 1)]
    sizes[0] += total - sum(sizes)
    return sizes
