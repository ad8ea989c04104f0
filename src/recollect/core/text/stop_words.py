"""Words that are in nearly every sentence of a language: next to other words in a query they mean
nothing, and they show which language a text is in.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from recollect.resources import read_lists

_OF_QUERIES: Final = "en in queries"


def _read() -> Mapping[str, tuple[str, ...]]:
    return read_lists("recollect.core.text", "stop_words.txt")


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the words of a language that mean nothing in a query; none for a language without a
    list.
    """
    if language == "en":
        return english_stop_words().union(_read()[_OF_QUERIES])
    return frozenset(_read().get(language, ()))


@cache
def english_stop_words() -> frozenset[str]:
    """Return the words that mean nothing in any English text. In a query, they would only prevent
    the right memory from matching every word.
    """
    return frozenset(_read()["en"])


def listed_languages() -> tuple[str, ...]:
    return tuple(each for each in _read() if each != _OF_QUERIES)
