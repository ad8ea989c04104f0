"""Split a text into words, according to the word boundaries of Unicode (UAX 29).

Every character is mapped to a class of one letter, and the rules are regular expressions over the
classes. So a combining mark stays in its word in any script, an invisible character does not split
one, and neither a table of all characters nor a rule per script is needed. The expressions never
backtrack: time grows with the length of the text, whatever it contains.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from typing import Final, NamedTuple

MAX_WORD: Final = 64
"""The longest word, in characters. A longer one is cut, and each piece is a word."""

MAX_COMPOUND: Final = 128
"""The longest identifier, path or address that is also indexed whole, in characters."""

# The classes. Letters: u upper case, l lower case, a without case. n: numbers. m: marks and
# invisible characters, which belong to the character before them. w, k, h, g: scripts without
# spaces, which are split into pairs (w Thai and others, k kana, h Han, g Hangul). s: symbols such
# as emoji, each a word. Punctuation that joins words is its own class. Everything else separates.
_JOINING: Final = {
    **{ord(sign): sign for sign in "_./@:+#-'"},
    ord("\\"): "/",
    ord("’"): "'",
    ord("‘"): "'",
    ord("ʼ"): "'",
    ord("‐"): "-",
    ord("‑"): "-",
    ord("״"): "'",
    ord("׳"): "'",
    ord("·"): "m",
    ord("ﾞ"): "m",
    ord("ﾟ"): "m",
}
# First and last character of each block.
_HAN: Final = (
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFD),
)  # fmt: skip
_KANA: Final = (
    (0x3041, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F),
    (0x1AFF0, 0x1B16F), (0x3105, 0x312F), (0x31A0, 0x31BF),
)  # fmt: skip
_HANGUL: Final = ((0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7FB))
# Thai, Lao, Burmese, Khmer, Tai Le, New Tai Lue, Tai Tham, Myanmar Extended-B and -A, Balinese,
# Javanese, Tai Viet, Ahom, Yi.
_UNSPACED: Final = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19FF), (0x1A20, 0x1AAF),
    (0x1B00, 0x1B7F), (0xA000, 0xA4CF), (0xA980, 0xA9FF), (0xAA60, 0xAADF), (0x11700, 0x1174F),
)  # fmt: skip
_BLOCKS: Final = (("h", _HAN), ("k", _KANA), ("g", _HANGUL), ("w", _UNSPACED))
_BY_CATEGORY: Final = {
    "Lu": "u", "Lt": "u", "Ll": "l", "Lm": "a", "Lo": "a", "Nd": "n", "Nl": "n", "No": "n",
    "Mn": "m", "Mc": "m", "Me": "m", "Cf": "m", "So": "s", "Cn": "a", "Co": "a",
}  # fmt: skip


class _Classes(dict[int, str]):
    def __missing__(self, code: int) -> str:
        found = self[code] = _class_of(code)
        return found


def _class_of(code: int) -> str:
    category = unicodedata.category(chr(code))
    kind = _BY_CATEGORY.get(category, " ")
    # Modifiers of an emoji, and flags, are characters of their own in Unicode.
    if kind in "al" or category in ("No", "So", "Nl"):
        for name, blocks in _BLOCKS:
            if any(first <= code <= last for first, last in blocks):
                return name
    return kind


_CLASSES: Final = _Classes(_JOINING)

# Plain words are the most common by far, so they are tried first; what follows distinguishes them
# from compounds.
_SEGMENT: Final = re.compile(
    r"(?P<plain>(?>(?:um*+)?[la][lam]*+|u[um]*+|n[nm]*+)(?![ulan]|[-_./@:'][ulan]|\+\+|\#))"
    r"|(?P<pairs>[wkh][wkhm]*+)"
    r"|(?P<hangul>g[gm]*+)"
    r"|(?P<compound>[ulan][ulanm]*+(?:[-_./@:'][ulan][ulanm]*+)*+(?:\+\+|\#)?)"
    r"|(?P<symbol>s)m*+"
)
# From a compound to its words: a path or an address, a file or a host, a name of several words.
_LEVELS: Final = tuple(re.compile(f"[^{signs}]+") for signs in ("'", "/@:", ".", "_-"))
_MARKS: Final = re.compile(r"(.)(m+)")
# The words in a name: HTTPServer is HTTP and Server, sha256 is sha and 256.
_INNER: Final = re.compile(r"u+(?![la])|u?[la]+|n+")
_WORD: Final = re.compile("[^-_./@:']+")
# Words for counting and comparing: without compounds and their parts.
_PLAIN_ASCII: Final = re.compile(r"[a-z0-9]+")
_PLAIN: Final = re.compile(r"[ulan][ulanm]*+|(?P<unspaced>[wkh][wkhm]*+|g[gm]*+)")


def words(text: str) -> tuple[str, ...]:
    """Return every word of a text, in order and in lower case; in a script without spaces, each
    pair of adjacent characters.
    """
    if text.isascii():  # the same words, in half the time
        return tuple(_PLAIN_ASCII.findall(text.lower()))
    found: list[str] = []
    for match in _PLAIN.finditer(text.translate(_CLASSES)):
        start, end = match.span()
        if match.lastgroup is None or end - start < 3:
            # Lower case after splitting: a small İ is two characters, and one of them is not a
            # letter.
            found.append(text[start:end].lower())
        else:
            found += (text[place : place + 2].lower() for place in range(start, end - 1))
    return tuple(found)


class Segment(NamedTuple):
    """A piece of a text: what kind of piece it is, its characters, and their classes."""

    kind: str
    text: str
    classes: str


def segments(text: str) -> list[Segment]:
    """Return the pieces of a text to index, in order. Plain words, and the parts of compounds, are
    of the kind `word`; the compounds themselves are `whole`.
    """
    return list(segments_except(text, ()))


def segments_except(text: str, skipped: Container[str]) -> Iterator[Segment]:
    """Yield the pieces of a text, without the plain words in `skipped`."""
    classes = text.translate(_CLASSES)
    for match in _SEGMENT.finditer(classes):
        start, end = match.span()
        kind = match.lastgroup
        if kind == "plain" and end - start <= MAX_WORD:
            if (word := text[start:end]) not in skipped:
                yield Segment("word", word, "")
        elif kind == "plain" or kind == "compound":
            for part, is_word in _parts(text[start:end], classes[start:end]):
                yield Segment("word" if is_word else "whole", part, "")
        else:
            yield Segment(kind or "", text[start:end], classes[start:end])


def _parts(text: str, classes: str) -> Iterator[tuple[str, bool]]:
    """Yield a compound, then its parts, each with whether it is a word of a language."""
    if classes[-1] in "+#":
        yield text[-MAX_COMPOUND:], False  # C++, C#
        classes = classes.rstrip("+#")
        text = text[: len(classes)]
    if len(text) <= MAX_COMPOUND:
        yield from _split(text, classes, 0)
    else:
        for match in _WORD.finditer(classes):
            start, end = match.span()
            yield from _words(text[start:end], classes[start:end])


def _split(text: str, classes: str, level: int) -> Iterator[tuple[str, bool]]:
    if level == len(_LEVELS):
        yield from _words(text, classes)
        return
    spans = [match.span() for match in _LEVELS[level].finditer(classes)]
    if len(spans) > 1 and level:
        yield text, False
    for start, end in spans:
        yield from _split(text[start:end], classes[start:end], level + 1)


def _words(text: str, classes: str) -> Iterator[tuple[str, bool]]:
    if "m" in classes:
        classes = _MARKS.sub(lambda match: match[1] * (1 + len(match[2])), classes)
    for at in range(0, len(text), MAX_WORD):
        word = text[at : at + MAX_WORD]
        yield word, True
        inner = _INNER.findall(classes, at, at + MAX_WORD)
        if len(inner) > 1:
            start = 0
            for each in inner:
                yield word[start : start + len(each)], True
                start += len(each)
