"""Whether a memory has anything to do with a prompt: the floor below which nothing is injected.

Recall always finds its best; before a prompt, the best may still be irrelevant. A leg's score does
not show that: it depends on the store, and in a small one every word is rare. This measure looks
only at prompt and memory, so it is the same for every store and mode. It adds up how distinctive
each shared word is, with BM25's weights for repetition and length, and counts the sum twice: as it
is, and as a share of all the prompt's words. So a long prompt has to share several distinctive
words, and a short one most of its own. The constants were chosen by `recollect bench floor`
(docs/adr/0021).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
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
    from recollect.core.recall.request import Hit


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
# If a memory was also found by meaning: the floor for the evidence of its cosine, and what its
# words add to that.
MEANING_FLOOR: Final = 0.67
_WORD_WEIGHT_WITH_MEANING: Final = 0.025

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


def is_relevant(
    prompt: str, hit: Hit, floor: float = FLOOR, meaning_floor: float = MEANING_FLOOR
) -> bool:
    """Whether a hit clears the floor: by its words, or where a dense leg found it, by its meaning
    and its words together. Words alone are then not enough: a prompt about a topic that memories
    mention shares words with them although none may answer it.
    """
    by_words = hit_relevance(prompt, hit)
    by_meaning = meaning_mark(by_words, hit)
    return by_words >= floor if by_meaning is None else by_meaning >= meaning_floor


def meaning_mark(by_words: float, hit: Hit) -> float | None:
    """Return what is compared with the floor for meaning; None if no dense leg found the hit."""
    dense = hit.legs.get("dense")
    return None if dense is None else dense.evidence + _WORD_WEIGHT_WITH_MEANING * by_words
