"""Seed phrases: the words from which a wallet is restored.

BIP 39 uses 12, 15, 18, 21 or 24 words of three to eight letters from a list with hardly any
inflected word and none of those that every sentence needs. So a run of such words is not a
sentence; the words before it add confidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.core.privacy.secrets.values import read_words

_WORD: Final = re.compile(r"[^\W\d_]+")
_GAP: Final = re.compile(r"[\s,;]{1,4}|[\s,;]{0,3}\d{1,2}[.):]?\s{0,2}")
_FITTING: Final = re.compile(r"[a-z]{3,8}")
_INFLECTED: Final = re.compile(r"[a-z]+(?:s|ed|ing|ly)")
_MAX_INFLECTED: Final = 0.2
_LENGTHS: Final = (12, 15, 18, 21, 24)
_NAMED: Final = re.compile(r"seed|mnemonic|recovery|wallet|bip-?39|backup phrase", re.IGNORECASE)
_NAMED_WITHIN: Final = 80


def find_phrases(text: str) -> Iterator[tuple[int, int, float]]:
    """Where seed phrases are, and the confidence in each."""
    for start, end, words in _runs(text):
        inflected = sum(_INFLECTED.fullmatch(word) is not None for word in words)
        if inflected > _MAX_INFLECTED * len(words) or len(set(words)) < len(words) * 2 / 3:
            continue
        if _NAMED.search(text, max(0, start - _NAMED_WITHIN), start) or _NAMED.search(
            " ".join(words[:6])
        ):
            yield start, end, 0.9
        elif len(words) in _LENGTHS and _stands_alone(text, start, end):
            yield start, end, 0.75


def _runs(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Runs of twelve or more matching words."""
    run: list[str] = []
    start = end = 0
    function_words = read_words("not in seed phrases")
    for match in _WORD.finditer(text):
        word = match[0].lower()
        is_fitting = _FITTING.fullmatch(word) is not None and word not in function_words
        if run and not (is_fitting and _GAP.fullmatch(text, end, match.start())):
            yield from [(start, end, run)] if len(run) >= _LENGTHS[0] else []
            run = []
        if is_fitting:
            start = start if run else match.start()
            run.append(word)
            end = match.end()
    if len(run) >= _LENGTHS[0]:
        yield start, end, run


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Lower case separated by spaces, and nothing else on the line except a label."""
    phrase = text[start:end]
    before = text[max(0, start - 20) : start].rpartition("\n")[2].rstrip()
    after = text[end : end + 3].lstrip(" \t\"'`.")
    is_plain = phrase == phrase.lower() and re.search(r"[^\sa-z]", phrase) is None
    return is_plain and before[-1:] in ("", ":", '"', "'", "`") and after[:1] in ("", "\n")
