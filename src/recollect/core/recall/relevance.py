"""Which hits have anything to do with a prompt: the floors below which nothing is injected.

Recall always finds its best; before a prompt, the best may still be irrelevant. A leg's score does
not show it: it depends on the store, and in a small one every word is rare. Relevance by words
looks only at prompt and memory, so it is the same for every store and mode. It adds up how telling
each shared word is, with BM25's weights for repetition and length, and counts the sum twice: as it
is, and as a share of all the prompt's words. So a long prompt needs several telling words, and a
short one most of its own. The decision also looks at the evidence of the legs, and at the other
hits (docs/adr/0066). The constants were chosen by `recollect bench floor`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from heapq import nlargest
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.core.text.analysis import clean_query
from recollect.core.text.languages import guess
from recollect.core.text.segments import words
from recollect.core.text.stop_words import english_stop_words, stop_words
from recollect.resources import read_list

if TYPE_CHECKING:
    from recollect.core.recall.request import Hit, LegName


# How much a word says: the fewer memories contain it, the more.

MIN_ROWS: Final = 20
"""An owner with fewer memories counts as one with this many: that two of three memories contain a
word does not make it a common one. The same for every owner."""

MAX_ASKED: Final = 24
"""A long prompt is about several things: no memory has to contain more than this many of
its words."""


def idf(rows: int, frequency: int) -> float:
    """Return the inverse document frequency as BM25 defines it, but never negative."""
    return log(1 + (rows - frequency + 0.5) / (frequency + 0.5))


def most_information(words: Iterable[float]) -> float:
    """Return the most that a memory can contain of a query whose words weigh this much: its rarest
    words.
    """
    return sum(nlargest(MAX_ASKED, words))


FLOOR: Final = 3.4
# By words, a memory must also hold so much of the information that is asked for, unless the prompt
# is long, and so about several things: where a script has no spaces, one name is several words.
_LEAST_SHARE: Final = 0.35
# By meaning: the evidence of the cosine, and what words add to it.
MEANING_FLOOR: Final = 0.67
_WORDS_BESIDE_MEANING: Final = 0.025
# A hit that is so much nearer than any other needs less: what is not known has several memories
# about as near.
_LEAD: Final = 0.1
_WORTH_OF_LEAD: Final = 0.09
# Where one hit shows that the prompt is about something known, so many of the first are injected:
# the answer is more often among them than it is clear.
_FIRST: Final = 3
CLEAR_EVIDENCE: Final = 0.52
"""A hit with so much is about the query. Of questions with an answer 0 to 8% have none, of prompts
about something else about half (docs/adr/0042)."""

_EVERYDAY_WEIGHT: Final = 0.4
# BM25's constants, and the text length at which a word's weight is neither raised nor lowered.
_K1: Final = 1.2
_B: Final = 0.75
_LENGTH: Final = 60
_MIN_WORD: Final = 2
# Japanese endings and particles.
_HIRAGANA: Final = re.compile(r"[\u3040-\u309f]+")
_MAX_WORDS: Final = 64


class Measure(NamedTuple):
    """How much may be injected, and how relevant it has to be."""

    tokens: int = 1_200
    floor: float = FLOOR
    meaning_floor: float = MEANING_FLOOR


def stem(word: str) -> str:
    """Return the part of an English word that its forms share, roughly: both sides are cut
    alike.
    """
    for ending in ("ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    for ending in "eiy":
        if word.endswith(ending) and len(word) > 3:
            word = word.removesuffix(ending)
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


@cache
def everyday_stems() -> frozenset[str]:
    """Return the stems of words that people use about anything."""
    return frozenset(map(stem, read_list("recollect.core.recall", "everyday.txt")))


def relevance(prompt: str, text: str) -> float:
    """Measure how much of what the prompt is about is in the text; 0 if nothing is."""
    weights = _weights(prompt)
    if not weights:
        return 0.0
    counts = Counter(stem(word) for word in words(text))
    dampened = _K1 * (1 - _B + _B * counts.total() / _LENGTH)
    shared = sum(
        weight * times * (_K1 + 1) / (times + dampened)
        for word, weight in weights.items()
        if (times := counts[word])
    )
    return shared * (1 + 1 / sum(weights.values()))


@lru_cache(maxsize=1)
def _weights(text: str) -> Mapping[str, float]:
    """Return the weight of each word; cached, since it is the same for every hit of a prompt."""
    found = words(clean_query(text))
    others = (language for language in guess(found) if language != "en")
    stopped = english_stop_words().union(*map(stop_words, others))
    asked = dict.fromkeys(
        stem(word)
        for word in found
        if word not in stopped and len(word) >= _MIN_WORD and not _HIRAGANA.fullmatch(word)
    )
    return {word: _weight(word) for word in list(asked)[:_MAX_WORDS]}


def _weight(word: str) -> float:
    return _EVERYDAY_WEIGHT if word in everyday_stems() else 1.0


def hit_relevance(prompt: str, hit: Hit) -> float:
    """Measure how much of what the prompt is about is in a hit: in its text, keywords and tags. For
    a long text, in the most relevant part of the shown passage: in the whole, what answers the
    prompt would be lost among everything else.
    """
    named = (*hit.memory.expanded_keywords, *hit.memory.tags)
    parts = [hit.memory.content] if hit.passage is None else _parts(hit.passage.text)
    return max(relevance(prompt, "\n".join((part, *named))) for part in parts)


def _parts(text: str) -> list[str]:
    """Split a text into pieces of the usual length, each beginning in the middle of the one
    before.
    """
    tokens = text.split()
    step = _LENGTH // 2
    starts = range(0, max(len(tokens) - step, 1), step)
    return [" ".join(tokens[start : start + _LENGTH]) for start in starts]


class Mark(NamedTuple):
    """What is compared with the floors: by words, and by meaning and words together. 0 where the
    one or the other says nothing.
    """

    words: float
    meaning: float


def mark_hits(prompt: str, hits: Sequence[Hit]) -> list[Mark]:
    """The marks of the hits of one recall."""
    is_short = len(prompt.split()) <= MAX_ASKED
    nearness = [_evidence(hit, "dense") for hit in hits]
    nearest = nlargest(2, [*nearness, 0.0, 0.0])
    marks: list[Mark] = []
    for hit, near in zip(hits, nearness, strict=True):
        said = hit_relevance(prompt, hit)
        holds_enough = not is_short or _evidence(hit, "lexical") >= _LEAST_SHARE
        by_words = said if holds_enough else 0.0
        by_meaning = near and near + _WORDS_BESIDE_MEANING * said
        if near == nearest[0] >= nearest[1] + _LEAD:
            by_meaning += _WORTH_OF_LEAD
        marks.append(Mark(by_words, by_meaning))
    return marks


def choose_relevant(
    prompt: str, hits: Sequence[Hit], floor: float = FLOOR, meaning_floor: float = MEANING_FLOOR
) -> list[Hit]:
    """The hits of a recall that are worth injecting, in their order: those that clear a floor, by
    words or by meaning, and beside them the first ones.
    """
    clear = [
        mark.words >= floor or mark.meaning >= meaning_floor for mark in mark_hits(prompt, hits)
    ]
    if not any(clear):
        return []
    return [
        hit
        for place, (hit, is_clear) in enumerate(zip(hits, clear, strict=True))
        if is_clear or accompanies(place, hit)
    ]


def accompanies(place: int, hit: Hit) -> bool:
    """Whether a hit at this place, from 0, is injected if another one clears a floor. One that
    meaning found must be about the prompt.
    """
    return place < _FIRST and ("dense" not in hit.legs or _evidence(hit, "dense") >= CLEAR_EVIDENCE)


def _evidence(hit: Hit, leg: LegName) -> float:
    place = hit.legs.get(leg)
    return 0.0 if place is None else place.evidence
