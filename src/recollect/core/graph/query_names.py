"""The names in a query that is typed entirely in one case.

Capitals show what a query names (`core/graph/walk.py`), but people type "which band did the brother
of john lennon play in". There, the names in the graph are looked up instead: each run of the
query's words that is a name, the longest first. A name must have at least two meaningful words, and
memories must write it as a name: a single word is a name in one text and a plain word in the next,
and "type 1" is part of many. With these restrictions, it did no harm to queries that one memory
answers (docs/adr/rejected.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from recollect.core.graph.concept_words import concept_key
from recollect.core.text.stop_words import english_stop_words

# Limits of what is looked up for one query, however long it is.
MAX_WORDS: Final = 64
MAX_NAME_WORDS: Final = 8
_MIN_WORDS: Final = 2
_MIN_WORD_CHARS: Final = 3

_APART: Final = re.compile(r"[,;:!?()\[\]{}\"“”«»]+|\.(?:\s|$)")
# Words that are not capitalised inside a name.
_SMALL_TEXT: Final = """
of the de del della di da do dos das du des la le el van von der den ter bin ibn al y e and in on at
for to a an with from by as
"""
_SMALL: Final = frozenset(_SMALL_TEXT.split())
_PARTS: Final = re.compile(r"[^\s-]+")


@dataclass(frozen=True, slots=True)
class Run:
    """A run of words of a query, from the position of the first to the one after the last."""

    key: str
    first: int
    after: int


def runs(query: str) -> list[Run]:
    """Find the runs of words that may be a name, the longest first; none if the query mixes
    capitals and small letters, because then its capitals show what it names.
    """
    if not (query.islower() or query.isupper()):
        return []
    found: list[Run] = []
    place = 0
    for piece in _APART.split(query):
        words = piece.split()[: MAX_WORDS - place]
        for first in range(len(words)):
            for after in range(first + 1, min(first + MAX_NAME_WORDS, len(words)) + 1):
                key = concept_key(" ".join(words[first:after]))
                if _may_name(key):
                    found.append(Run(key, place + first, place + after))
        place += len(words)
    return sorted(found, key=lambda run: (run.first - run.after, run.first))


def select_names(found: list[Run], known: Mapping[str, str]) -> list[str]:
    """Return the keys of the names in a query: of the known ones, given how memories write them,
    the longest first, no word twice.
    """
    taken: set[int] = set()
    keys: dict[str, None] = {}
    for run in found:
        places = set(range(run.first, run.after))
        if run.key in known and _is_written_as_name(known[run.key]) and not places & taken:
            taken |= places
            keys.setdefault(run.key)
    return list(keys)


def _may_name(key: str) -> bool:
    telling = [
        word
        for word in key.split()
        if len(word) >= _MIN_WORD_CHARS and word.isalpha() and word not in english_stop_words()
    ]
    return len(telling) >= _MIN_WORDS


def _is_written_as_name(name: str) -> bool:
    """John Lennon, Bank of England; not Gene expression, which only opens a sentence."""
    words = [word for word in _PARTS.findall(name) if word.casefold() not in _SMALL]
    return all(not word[0].isalpha() or word[0].isupper() for word in words)
