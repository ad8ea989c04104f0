"""Words that stand in nearly every sentence of a language: asked for together with others they say
nothing, and which of them a text holds tells its language.
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
    """The words of a language that say nothing in a query; none of a language without a list."""
    if language == "en":
        return english_stop_words().union(_read()[_OF_QUERIES])
    return frozenset(_read().get(language, ()))


@cache
def english_stop_words() -> frozenset[str]:
    """The words that say nothing in any English text. Asked for together with others, they would
    only keep the right memory from matching every word.
    """
    return frozenset(_read()["en"])


def listed_languages() -> tuple[str, ...]:
    return tuple(each for each in _read() if each != _OF_QUERIES)
