"""Late interaction: rerank the first hits by comparing the words of query and memory one by one.

A memory's vector says what it is about as a whole; the vectors of its tokens also say what each
word means in its context. Each token of the query is matched with the most similar token of the
memory, and a memory's score is the mean of these similarities, weighted by how distinctive the
query's tokens are (MaxSim, as in ColBERT: Khattab and Zaharia 2020). What was measured, and how the
constants were chosen: docs/adr/0052.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Final, NamedTuple

from recollect.core.recall.request import RerankPlace, WordMatch
from recollect.core.text.stop_words import stop_words
from recollect.core.text.terms import text_languages


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """One vector of length 1 per token, up to the end of what the model reads.

    `values` are 32-bit little-endian floats, one token after the other. `spans` are the first
    character of each token in the text, and the one after its last.
    """

    dimension: int
    spans: tuple[tuple[int, int], ...]
    values: bytes

    def __post_init__(self) -> None:
        if len(self.values) != 4 * self.dimension * len(self.spans):
            raise ValueError("each token needs one vector")

    def before(self, end: int) -> TokenVectors:
        """Return those that end by this character of the text."""
        kept = sum(last <= end for _, last in self.spans)
        return TokenVectors(
            self.dimension, self.spans[:kept], self.values[: 4 * self.dimension * kept]
        )

    def after(self, start: int) -> TokenVectors:
        """Return those from this character of the text on, as if the text began there."""
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


# How much a memory's tokens count: one deviation above the mean of the candidates adds this much to
# the logarithm of a fused score.
TOKEN_WEIGHT: Final = 0.4
# If all candidates match about equally well, small differences mean little. This is half of the
# smallest deviation in lists of real memories.
_MIN_DEVIATION: Final = 0.02
# Below this cosine an explanation does not list two words as similar.
MIN_SIMILARITY: Final = 0.35
# The most that an explanation lists.
_MAX_MATCHES: Final = 12


class TokenMatch(NamedTuple):
    """A token of the query and the most similar token of a memory: where both start and end, how
    similar they are (a cosine), and the query token's share of the score's weight.
    """

    query_start: int
    query_end: int
    start: int
    end: int
    similarity: float
    weight: float


class Comparison(NamedTuple):
    """How well a memory's tokens match those of the query, and the match of each query token."""

    score: float
    matches: tuple[TokenMatch, ...]


def combine(fused: Sequence[float], tokens: Sequence[float], trust: float = 1.0) -> list[float]:
    """Multiply each fused score by a factor for how far its memory's tokens are above or below the
    mean of these candidates, in deviations, so that the model's scale does not matter. With a
    factor, what stands out keeps its place, which it did not with a sum of both in deviations.
    `trust` is how well the model knows the query's language, from 0 to 1.
    """
    return [
        score * exp(TOKEN_WEIGHT * trust * deviation)
        for score, deviation in zip(fused, _deviations(tokens), strict=True)
    ]


def similar_words(query: str, matches: Sequence[TokenMatch]) -> tuple[WordMatch, ...]:
    """Return what the query's words matched, the most distinctive first. A word that the model
    reads as several tokens is one word here, matched with all adjacent tokens that they matched.
    Stop words of the query's language are left out.
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
    """Widen each match to whole words of the memory: a token may be part of one."""
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
