"""Text as a reader sees it: without invisible characters, and in ordinary letters.

A token can be split by a zero-width space, or written in full-width letters, and still be copied
and used. Spans keep pointing into the text as it was written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
# A letter with the marks on it; more than a few on one letter are no writing.
_LETTER: Final = re.compile(r"(?s).[\u0300-\u036f]{0,4}")


def readable(text: str) -> tuple[str, Sequence[int]]:
    """The text in compatibility form (NFKC) without what cannot be seen, and for each character of
    it, and its end, the place in the text as it was written.
    """
    if text.isascii() or (
        unicodedata.is_normalized("NFKC", text) and _INVISIBLE.search(text) is None
    ):
        return text, range(len(text) + 1)
    parts: list[str] = []
    places: list[int] = []
    for match in _LETTER.finditer(text):
        letter = match[0]
        if _INVISIBLE.match(letter):
            continue
        plain = letter if letter.isascii() else unicodedata.normalize("NFKC", letter)
        parts.append(plain)
        places += [match.start()] * len(plain)
    places.append(len(text))
    return "".join(parts), places
