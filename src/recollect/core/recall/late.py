"""Late interaction: rank the first hits again by the words of query and memory, one by one.

A memory's vector says what it is about as a whole; the vectors of its tokens also say what each
word means where it stands. Each token of the query looks for the token of the memory that is most
like it, and a memory's score is the mean of these similarities, weighted by how telling the
query's tokens are (MaxSim, as in ColBERT: Khattab and Zaharia 2020). What was measured, and how
the constants were chosen: docs/adr/0052.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Final, NamedTuple

from recollect.core.recall.request import RerankPlace, WordMatch
from recollect.core.text.stop_words import stop_words
from recollect.core.text.terms import text_languages

# The vectors of a text's tokens, for comparing texts word by word.


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """One vector of length 1 for each token, from the first on, as far as the model reads.

    `values` are 32-bit little-endian floats, one token after the other. `spans` say from which
    character of the text to which each token goes.
    """

    dimension: int
    spans: tuple[tuple[int, int], ...]
    values: bytes

    def __post_init__(self) -> None:
        if len(self.values) != 4 * self.dimension * len(self.spans):
            raise ValueError("each token needs one vector")

    def before(self, end: int) -> TokenVectors:
        """Those that end by this character of the text."""
        kept = sum(last <= end for _, last in self.spans)
        return TokenVectors(
            self.dimension, self.spans[:kept], self.values[: 4 * self.dimension * kept]
        )

    def after(self, start: int) -> TokenVectors:
        """Those from this character of the text on, as if the text began there."""
        before = sum(first < start for first, _ in self.spans)
        return TokenVectors(
            self.dimension,
            tuple((first - start, last - start) for first, last in self.spans[before:]),
            self.values[4 * self.dimension * before :],
        )


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """A text's vector, and its tokens' vectors if the model exposes them."""

    vector: Sequence[float]
    tokens: TokenVectors | None


# How much a memory's tokens count: one deviation above the mean of the candidates is worth this
# much of the logarithm of a fused score.
TOKEN_WEIGHT: Final = 0.4
# Where all candidates match about as well, small differences mean little: half of the smallest
# deviation that lists of real memories have.
_MIN_DEVIATION: Final = 0.02
# Below this cosine an explanation does not call two words alike.
MIN_SIMILARITY: Final = 0.35
# What an explanation names at most.
_MAX_MATCHES: Final = 12


class TokenMatch(NamedTuple):
    """The token of a memory that is most like a token of the query: from which character to which
    both go, how similar they are (a cosine), and the query token's share of the score's weight.
    """

    query_start: int
    query_end: int
    start: int
    end: int
    similarity: float
    weight: float


class Comparison(NamedTuple):
    """How well a memory's tokens match those of the query, and how each of these is matched."""

    score: float
    matches: tuple[TokenMatch, ...]


def combine(fused: Sequence[float], tokens: Sequence[float], trust: float = 1.0) -> list[float]:
    """The fused scores, each multiplied by a factor for how far its memory's tokens are above or
    below the mean of these candidates, in deviations: so the model's scale does not matter. A
    factor leaves what stands out where it is, which a sum of both in deviations did not. `trust`
    is how well the model knows the query's language, from 0 to 1.
    """
    return [
        score * exp(TOKEN_WEIGHT * trust * deviation)
        for score, deviation in zip(fused, _deviations(tokens), strict=True)
    ]


def similar_words(query: str, matches: Sequence[TokenMatch]) -> tuple[WordMatch, ...]:
    """What the query's words found, the most telling first. A word that the model reads as several
    tokens is one word here, and what it found is everything that these found side by side. The
    stop words of the query's language are left out.
    """
    groups: list[list[TokenMatch]] = []
    for match in matches:
        if not any(map(str.isalnum, query[match.query_start : match.query_end])):
            continue
        if groups and groups[-1][-1].query_end == match.query_start:
            groups[-1].append(match)
        else:
            groups.append([match])
    stopped = frozenset[str]().union(*map(stop_words, text_languages(query)))
    joined = [_join(query, group) for group in groups]
    found = [
        word
        for word in joined
        if word.similarity >= MIN_SIMILARITY and word.word.lower() not in stopped
    ]
    found.sort(key=lambda word: -word.weight * word.similarity)
    return tuple(found[:_MAX_MATCHES])


def widen_to_words(place: RerankPlace | None, content: str) -> RerankPlace | None:
    """With each match widened to the whole words of the memory: a token may be a part of one."""
    if place is None or not place.words:
        return place
    return place._replace(words=tuple(_widen(match, content) for match in place.words))


def _widen(match: WordMatch, content: str) -> WordMatch:
    start, end = match.start, match.end
    while start > 0 and content[start - 1 : start].isalnum():
        start -= 1
    while content[end : end + 1].isalnum():
        end += 1
    return match._replace(start=start, end=end)


def _join(query: str, group: Sequence[TokenMatch]) -> WordMatch:
    weight = sum(match.weight for match in group)
    best = max(group, key=lambda match: match.similarity)
    start, end = best.start, best.end
    for match in sorted(group, key=lambda match: match.start):
        if match.start == end:
            end = match.end
    for match in sorted(group, key=lambda match: -match.end):
        if match.end == start:
            start = match.start
    share = weight or 1.0
    return WordMatch(
        query[group[0].query_start : group[-1].query_end],
        start,
        end,
        sum(match.similarity * match.weight for match in group) / share,
        weight,
    )


def _deviations(scores: Sequence[float]) -> list[float]:
    count = len(scores)
    mean = sum(scores) / count
    deviation = sqrt(sum((score - mean) * (score - mean) for score in scores) / count)
    return [(score - mean) / max(deviation, _MIN_DEVIATION) for score in scores]
