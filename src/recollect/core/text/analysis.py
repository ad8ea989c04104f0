"""What a query's text means as words, whatever characters it contains.

To a user, `AND`, `"`, `*`, `:` and `&` are only text. So the text of a query never reaches a query
language: words are extracted from it first, and match expressions are built only from words.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Invisible characters: they split words for a filter, but models read them all the same. These are
# Unicode's property Default_Ignorable_Code_Point, which Python does not know, and the blank Braille
# pattern. `tests/shells/web/test_memories.py` compares them with those that a browser knows.
INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def strip_invisible(text: str) -> str:
    return text if text.isascii() else INVISIBLE.sub("", text)


MAX_QUERY_CHARS: Final = 4_000
"""Of a longer text only the first and the last half of this are read: the question is before or
after what is pasted, and analyzing all of a pasted file would take seconds.
"""
_MAX_MARKS: Final = 30
_MIN_EXCERPT_SHARE: Final = 0.8
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# Controls and halves of surrogate pairs separate words.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
# Marks of the writing direction do not: the analyzer joins a word that contains one.
_INVISIBLE: Final = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")

# A word that was cut in two. In a script without spaces, a cut loses nothing.
_CUT_AT_END: Final = re.compile(r"(?<=\s)\S{1,40}\Z")
_CUT_AT_START: Final = re.compile(r"\A\S{1,40}(?=\s)")


def find_unstorable(text: str) -> str | None:
    """Name the first character that not every store can keep, if there is one."""
    if "\x00" in text:
        return "a NUL character"
    if _SURROGATE.search(text):
        return "half of a surrogate pair (broken UTF-8)"
    return None


def repair_text(text: str) -> str:
    """Make the text valid UTF-8: halves of surrogate pairs, which broken UTF-8 turns into, are
    joined, or replaced by U+FFFD.
    """
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_query(text: str) -> str:
    """Make any text a query that every store accepts: normalised, bounded, without controls."""
    bounded = _INVISIBLE.sub("", _CONTROL.sub(" ", _head_and_tail(text)))
    if not bounded.isascii():
        bounded = _limit_marks(bounded)
    return unicodedata.normalize("NFC", bounded).strip()


def _head_and_tail(text: str) -> str:
    if len(text) <= MAX_QUERY_CHARS:
        return text
    half = MAX_QUERY_CHARS // 2
    return f"{_CUT_AT_END.sub('', text[:half])} {_CUT_AT_START.sub('', text[-half + 1 :])}"


def _limit_marks(text: str) -> str:
    """Keep at most 30 marks per character, as in Unicode's stream-safe format: sorting more takes
    time that grows with the square of their number.
    """
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def counted(number: int, noun: str) -> str:
    """Format a number of things: `1 memory`, `2 memories`."""
    if number == 1:
        return f"1 {noun}"
    many = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{number:,} {many}"


def excerpt(text: str, length: int) -> str:
    """Return the text, or its first `length` characters, up to the end of a word if one is near."""
    if len(text) <= length:
        return text
    end = text.rfind(" ", int(_MIN_EXCERPT_SHARE * length), length)
    return f"{text[: length if end < 0 else end].rstrip()}…"
