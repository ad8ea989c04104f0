"""Words that say nothing about a concept, and the normal form of a concept's spellings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final

from recollect.core.text.stop_words import english_stop_words, stop_words
from recollect.resources import read_lists

_ARTICLES: Final = frozenset({"the", "a", "an"})
_POSSESSIVE: Final = re.compile(r"['’]s?(?!\w)")
_APART: Final = re.compile(r"[^\w+#./:~-]+")
_EDGES: Final = "-./:~_"


# Not accents: kana with them are different letters (ハ, バ, パ).
_VOICED: Final = "\u3099\u309a"


def _read() -> Mapping[str, tuple[str, ...]]:
    return read_lists("recollect.core.graph", "concept_words.txt")


@cache
def fillers(languages: tuple[str, ...]) -> frozenset[str]:
    """Return the words that separate phrases in a text in these languages and in English."""
    others = (each for each in languages if each != "en")
    return english_stop_words().union(
        _read()["fillers en"],
        *((*stop_words(each), *_read().get(f"fillers {each}", ())) for each in others),
    )


@cache
def no_names(languages: tuple[str, ...]) -> frozenset[str]:
    """Return the words that are capitalised in a text in these languages, but are no names by
    themselves.
    """
    plain = fillers(languages).difference(_read()["given names"] if "en" in languages else ())
    return plain.union(fillers(()), _read()["no names"])


def concept_key(label: str) -> str:
    """Return the normal form of a concept's spellings: without case, accents, articles, possessives
    and plural; initials are one word.
    """
    folded = _POSSESSIVE.sub("", label).casefold()
    if not folded.isascii():
        letters = "".join(
            character
            for character in unicodedata.normalize("NFKD", folded).casefold()
            if not unicodedata.combining(character) or character in _VOICED
        )
        folded = unicodedata.normalize("NFC", letters)
    if "/" in folded or "_" in folded:  # an address, a path or code has only one spelling
        return folded.strip().rstrip("/.,:;)")
    tokens = [
        token
        for part in _APART.split(_remove_dots(folded.replace("-", " ")))
        if (token := part.strip(_EDGES))
    ]
    while len(tokens) > 1 and tokens[0] in _ARTICLES:
        del tokens[0]
    tokens = _join_initials(tokens)
    if tokens:
        tokens[-1] = _to_singular(tokens[-1])
    return " ".join(tokens)


def _remove_dots(text: str) -> str:
    """Remove dots, unless they separate numbers, as in a version."""
    if "." not in text or any(character.isdigit() for character in text):
        return text
    return text.replace(".", " ")


def _join_initials(tokens: list[str]) -> list[str]:
    joined: list[str] = []
    was_initial = False
    for token in tokens:
        is_initial = len(token) == 1 and token.isalpha()
        if is_initial and was_initial:
            joined[-1] += token
        else:
            joined.append(token)
        was_initial = is_initial
    return joined


def _to_singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
