"""Find what looks like a credential in a text, with a confidence.

People paste keys into notes. A memory that contains one becomes sensitive, unless the caller
overrides that, and so never leaves the machine. Nothing here stores or shows what was found, only
where.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from recollect.core.privacy.secrets.rules import RULES
from recollect.core.privacy.secrets.sentences import find_phrases
from recollect.core.text.analysis import INVISIBLE
from recollect.core.text.secret import Secret

# Text as a reader sees it: without invisible characters, and in ordinary letters. A token can be
# split by a zero-width space, or written in full-width letters, and still be copied and used; and a
# word can contain a Cyrillic or Greek letter that looks like a Latin one. Spans keep pointing into
# the original text.

# A letter with its combining marks; more than a few on one letter are not writing.
_LETTER: Final = re.compile(r"(?s).[\u0300-\u036f]{0,4}")
# Cyrillic and Greek letters that look like Latin ones.
_LOOK_ALIKES: Final = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"
    "\u03b1\u03bf\u03c1\u03b9\u03bd\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f"
    "\u03a1\u03a4\u03a7\u0396",
    "aeopcyxijshdqwABEKMHOPCTXIJSaopivABEHIKMNOPTXZ",
)
_WORD: Final = re.compile(r"[a-zA-Z\u0370-\u03ff\u0400-\u052f]+")


def readable(text: str) -> tuple[str, Sequence[int]]:
    """Return the text in compatibility form (NFKC) without invisible characters, and for each of
    its characters, and its end, the position in the original text.
    """
    if text.isascii() or (
        unicodedata.is_normalized("NFKC", text) and INVISIBLE.search(text) is None
    ):
        return _unify_alphabet(text), range(len(text) + 1)
    parts: list[str] = []
    places: list[int] = []
    for match in _LETTER.finditer(text):
        letter = match[0]
        if INVISIBLE.match(letter):
            continue
        plain = letter if letter.isascii() else unicodedata.normalize("NFKC", letter)
        parts.append(plain)
        places += [match.start()] * len(plain)
    places.append(len(text))
    return _unify_alphabet("".join(parts)), places


def _unify_alphabet(text: str) -> str:
    """Replace lookalikes by Latin letters, in words that also have Latin ones."""
    return text if text.isascii() else _WORD.sub(_to_latin, text)


def _to_latin(word: re.Match[str]) -> str:
    letters = word[0]
    has_latin = any(letter.isascii() for letter in letters)
    return letters.translate(_LOOK_ALIKES) if has_latin else letters


# From this confidence on, a memory becomes sensitive. A missed secret may leave the machine
# permanently; a false alarm only keeps one memory from being found by meaning, and can be
# overridden. So the threshold is below the weakest form that is usually real (a short password in
# an assignment) and above words, names and numbers in the same place (0.4).
SENSITIVE_CONFIDENCE: Final = 0.7


def describe_secret(kind: str, confidence: float) -> str:
    """Explain why a text made its memory sensitive, for the person who stored it; never quotes the
    text.
    """
    return f"its text looks like a secret ({kind}, confidence {confidence:g})"


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return possible secrets in text order; of two that overlap, the one with more confidence."""
    plain, places = readable(text)
    found = [
        Secret(rule.kind, *match.span(match.lastindex or 0), confidence)
        for rule in RULES
        for match in rule.pattern.finditer(plain)
        if (confidence := rule.judge(match[match.lastindex or 0])) > 0
    ]
    found += [Secret("seed phrase", *phrase) for phrase in find_phrases(plain)]
    ordered = sorted(found, key=lambda secret: secret.span)
    return tuple(
        replace(secret, start=places[secret.start], end=places[secret.end - 1] + 1)
        for secret in _drop_overlaps(ordered)
    )


def looks_sensitive(text: str) -> Secret | None:
    """Return the most certain secret in the text, if it is certain enough to make the text
    sensitive.
    """
    surest = max(find_secrets(text), key=lambda secret: secret.confidence, default=None)
    return surest if surest is not None and surest.confidence >= SENSITIVE_CONFIDENCE else None


def _drop_overlaps(ordered: Iterable[Secret]) -> list[Secret]:
    kept: list[Secret] = []
    for secret in ordered:
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
        elif secret.confidence > kept[-1].confidence:
            kept[-1] = secret
    return kept
