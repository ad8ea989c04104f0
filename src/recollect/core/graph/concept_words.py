"""Words that say nothing about a concept, and the form that two spellings of one concept share."""

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


# No accents: with them kana are other letters (ハ, バ, パ).
_VOICED: Final = "\u3099\u309a"


def _read() -> Mapping[str, tuple[str, ...]]:
    return read_lists("recollect.core.graph", "concept_words.txt")


@cache
def fillers(languages: tuple[str, ...]) -> frozenset[str]:
    """What parts the phrases of a text in these languages, and in English."""
    others = (each for each in languages if each != "en")
    return english_stop_words().union(
        _read()["fillers en"],
        *((*stop_words(each), *_read().get(f"fillers {each}", ())) for each in others),
    )


@cache
def no_names(languages: tuple[str, ...]) -> frozenset[str]:
    """What is capitalised, in a text in these languages, and no name by itself."""
    plain = fillers(languages).difference(_read()["given names"] if "en" in languages else ())
    return plain.union(fillers(()), _read()["no names"])


def concept_key(label: str) -> str:
    """What two spellings of one concept share: no case, accents, articles, possessives or plural;
    initials are one word.
    """
    folded = _POSSESSIVE.sub("", label).casefold()
    if not folded.isascii():
        letters = "".join(
            character
            for character in unicodedata.normalize("NFKD", folded).casefold()
            if not unicodedata.combining(character) or character in _VOICED
        )
        folded = unicodedata.normalize("NFC", letters)
    if "/" in folded or "_" in folded:  # an address, a path or code: written one way only
        return folded.strip().rstrip("/.,:;)")
    tokens = [
        token
        for part in _APART.split(_without_dots(folded.replace("-", " ")))
        if (token := part.strip(_EDGES))
    ]
    while len(tokens) > 1 and tokens[0] in _ARTICLES:
        del tokens[0]
    tokens = _initials_joined(tokens)
    if tokens:
        tokens[-1] = _singular(tokens[-1])
    return " ".join(tokens)


def _without_dots(text: str) -> str:
    """Dots part numbers, in a version, and nothing else."""
    if "." not in text or any(character.isdigit() for character in text):
        return text
    return text.replace(".", " ")


def _initials_joined(tokens: list[str]) -> list[str]:
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


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
