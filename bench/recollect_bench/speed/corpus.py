"""A synthetic corpus of any size, seeded so that two machines measure the same work.

Pseudo-words follow Zipf's law like the words of natural languages: the n-th most common word occurs
1/n as often as the first. That makes common words expensive and rare ones distinctive, so it is
what a lexical leg must be measured on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate, product
from random import Random
from typing import Final

from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import Memory

VOCABULARY: Final = 50_000
SHORTEST, LONGEST = 8, 60
OWNER: Final = "bench"
# Shares of the memories that are in a project, for measuring inside a scope.
PROJECTS: Final = {"small": 0.01, "medium": 0.10}
_BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)

QueryKind = str
KINDS: Final[tuple[QueryKind, ...]] = ("2 words", "7 words", "12 words", "common words")
# Common words are drawn from the first ranks, distinctive ones from beyond the frequent words.
_COMMON_RANKS: Final = 30
_MIN_DISTINCTIVE_RANK: Final = 200


def vocabulary() -> list[str]:
    """Return distinct pronounceable words that no stemmer shortens and no stop list contains."""
    onsets = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "t", "v", "z"]
    syllables = [onset + vowel for onset, vowel in product(onsets, "aou")]
    words = (a + b + c + "k" for a, b, c in product(syllables, repeat=3))
    ordered = list(words)
    Random(7).shuffle(ordered)
    return ordered[:VOCABULARY]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Memories in a fixed order: the first n do not depend on how many follow. Each is as long as
    `passages` short ones.
    """

    seed: int
    words: tuple[str, ...]
    owner: str = OWNER
    passages: int = 1

    @classmethod
    def seeded(cls, seed: int, passages: int = 1) -> Corpus:
        return cls(seed, tuple(vocabulary()), passages=passages)

    def memories(self, first: int, last: int) -> Iterator[Memory]:
        weights = _weights(len(self.words))
        for number in range(first, last):
            random = Random(self.seed * 1_000_003 + number)
            length = self.passages * random.randint(SHORTEST, LONGEST)
            content = " ".join(random.choices(self.words, cum_weights=weights, k=length))
            moment = _BEGINNING + timedelta(seconds=number)
            yield Memory(
                id=uuid7(moment, random.randbytes(10)),
                owner=self.owner,
                content=content,
                created_at=moment,
                updated_at=moment,
                importance=0.5,
                project=_project(random.random()),
            )

    def queries(self, kind: QueryKind, count: int, size: int) -> list[str]:
        """Return questions of one kind, each about a memory among the first `size`."""
        random = Random(f"{self.seed} {kind}")
        if kind == "common words":
            return [" ".join(random.sample(self.words[:_COMMON_RANKS], 3)) for _ in range(count)]
        length = int(kind.split()[0])
        rank = {word: place for place, word in enumerate(self.words)}
        queries: list[str] = []
        while len(queries) < count:
            number = random.randrange(size)
            content = next(self.memories(number, number + 1)).content
            words = list(dict.fromkeys(content.split()))
            if kind == "2 words":
                words = [word for word in words if rank[word] >= _MIN_DISTINCTIVE_RANK]
            if len(words) >= length:
                queries.append(" ".join(random.sample(words, length)))
        return queries


@cache
def _weights(words: int) -> list[float]:
    return list(accumulate(1 / rank for rank in range(1, words + 1)))


def _project(draw: float) -> str | None:
    low = 0.0
    for name, share in PROJECTS.items():
        if low <= draw < low + share:
            return name
        low += share
    return None
