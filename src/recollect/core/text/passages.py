"""Cut a long text into passages that an embedding model can read whole.

A model reads the first few hundred tokens of a text and ignores the rest. So a longer text gets one
vector per passage. Passages end where sentences do, in any script, and overlap, so that a fact and
the sentence before it are together in one of them.

Tokens are estimated, because counting them needs the model. Time grows with the length of the text,
whatever it contains. docs/adr/0047 has the figures.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

MAX_WINDOW: Final = 512
"""The largest window in tokens, even for a model that reads more: a vector of more text says less
about each fact in it."""

OVERLAP: Final = 0.25
"""The share of a passage that the next one may repeat."""

FILL: Final = 0.2
"""How much of the window an embedded passage fills: the vector of one or two sentences says more
about each than that of ten."""

# English text has 4.4 bytes per token. Other characters than ASCII letters count one byte more:
# digits and signs are often tokens of their own, and so are the letters of many scripts.
_BYTES_PER_TOKEN: Final = 4
_COSTLY: Final = re.compile(r"[^A-Za-z\s]")

# A sentence ends with its mark, closing quotes or brackets, and what separates it from the next. In
# scripts without spaces, no space follows the mark. A dot is also part of numbers and names, and
# follows the number of an item. A line break ends a sentence as well. Only the first of several
# marks begins an end, so that a long run of them is read once.
_SENTENCE_END: Final = re.compile(
    r"""
    [。！？｡．‼⁇⁈⁉]++[”’」』）】》〉"')\]]*+\s*+
    | (?<!\n\d)(?<!\n\d\d)(?<![.!?…؟۔।॥።፧៕၊။։჻܀܁܂᠃᠉༎])[.!?…؟۔।॥።፧៕၊။։჻܀܁܂᠃᠉༎]++[”’"'»)\]]*+\s++
    | [\r\n\v\f\x85\u2028\u2029]\s*+
    """,
    re.VERBOSE,
)
_WORD_END: Final = re.compile(r"\s++|[，、；：,;:/|]++")


class Span(NamedTuple):
    """A part of a text: from character `start` up to `end`."""

    start: int
    end: int


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a model makes of a text; rather too many than too few."""
    size = len(text.encode("utf-8", "replace")) + len(_COSTLY.findall(text))
    return -(-size // _BYTES_PER_TOKEN)


def cut_passages(text: str, window: int, fill: float = FILL) -> list[Span]:
    """Cut a text into passages of up to `fill` windows of tokens each. They cover the whole text in
    order; a text that fits a window is a single passage.
    """
    if len(text) <= window or estimate_tokens(text) <= window:
        return [Span(0, len(text))]
    size = max(1, int(fill * window))
    return list(_pack(list(_pieces(text, size)), size))


class _Piece(NamedTuple):
    start: int
    end: int
    tokens: int


def _pack(pieces: list[_Piece], size: int) -> Iterator[Span]:
    """Put as many pieces into a passage as fit; the next one begins with the last pieces of this
    one, as far as these are within the overlap.
    """
    first, tokens = 0, 0
    for number, piece in enumerate(pieces):
        if tokens and tokens + piece.tokens > size:
            yield Span(pieces[first].start, piece.start)
            while first < number and (
                tokens > OVERLAP * size or (tokens + piece.tokens > size and tokens)
            ):
                tokens -= pieces[first].tokens
                first += 1
        tokens += piece.tokens
    yield Span(pieces[first].start, pieces[-1].end)


def _pieces(text: str, size: int) -> Iterator[_Piece]:
    """Yield the sentences; those that are too long in parts that fit."""
    for sentence in _split(text, _SENTENCE_END, Span(0, len(text))):
        tokens = estimate_tokens(text[sentence.start : sentence.end])
        if tokens <= size:
            yield _Piece(*sentence, tokens)
        else:
            yield from _parts(text, sentence, max(1, size // 4))


def _parts(text: str, sentence: Span, size: int) -> Iterator[_Piece]:
    """Yield a long sentence in parts, each with as many words as fit."""
    start, end, tokens = sentence.start, sentence.start, 0
    for span in _split(text, _WORD_END, sentence):
        for word in _slices(text, span, size):
            more = estimate_tokens(text[word.start : word.end])
            if tokens and tokens + more > size:
                yield _Piece(start, end, tokens)
                start, tokens = end, 0
            end, tokens = word.end, tokens + more
    yield _Piece(start, end, tokens)


def _split(text: str, boundary: re.Pattern[str], span: Span) -> Iterator[Span]:
    start = span.start
    for match in boundary.finditer(text, span.start, span.end):
        yield Span(start, match.end())
        start = match.end()
    if start < span.end:
        yield Span(start, span.end)


def _slices(text: str, word: Span, size: int) -> Iterator[Span]:
    """Yield a word; one that is too long, in slices. No mark is separated from its letter."""
    start = word.start
    while word.end - start > size:
        end = start + size
        last = min(end + size, word.end)
        while end < last and _is_attached(text[end]):
            end += 1
        yield Span(start, end)
        start = end
    if start < word.end:
        yield Span(start, word.end)


def _is_attached(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf")
