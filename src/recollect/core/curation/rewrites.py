"""The same sentence with another value: "the shop runs on Python 3.11", "… on Python 3.12".

Short statements share few words, so the weight of what they share says little. If they agree word
for word except in one place, that place is the value, provided that it is of a kind with one value
at a time: a number, a day, a switch, a name at the end, or what something is called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from recollect.core.curation.values import is_day_or_switch
from recollect.core.text.stop_words import english_stop_words


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOKEN: Final = re.compile(r"[^\s,;()\"“”„«»]+")
_EDGES: Final = ".:!?'’`…"
# They say since when, not what.
_SINCE: Final = re.compile(
    r",?\s+(?:since|as of|seit|depuis|desde)\s+[\w-]+(?:\s+(?:19|20)\d\d)?(?=[.!]?$)", re.IGNORECASE
)
_FILLERS: Final = _words(
    """
    now currently already recently just actually jetzt nun derzeit aktuell maintenant désormais
    actuellement ahora actualmente теперь сейчас
    """
)
_MAX_VALUE_WORDS: Final = 3
_MIN_BEFORE: Final = 2
_IS: Final = _words("is are was were be = ist sind war est sont es son está")
_AUXILIARIES: Final = _IS | _words("has have had will can does did do hat haben wird kann")
# A thing has one of these at a time.
_SINGLE: Final = _words(
    """
    favourite favorite preferred default primary main current called named heißt s'appelle préféré
    préférée llama favorito favorita любимый называется
    """
)
# A number after these says which one is meant, not how it is.
_NUMBERED: Final = _words(
    """
    invoice issue ticket order pr bug chapter page episode section part volume step question task
    item line figure table case id number no row lesson rechnung kapitel seite facture chapitre
    factura capítulo
    """
)
# What happened once may happen again: another value does not replace the first.
_EVENT: Final = re.compile(
    r"\A(?:\w{2,}ed|went|saw|met|read|ate|bought|got|took|flew|drove|ran|won|lost|paid|sent|spent"
    r"|wrote|made|did|gave)\Z"
)


class Rewrite(NamedTuple):
    """The words in which two statements differ."""

    newer: str
    older: str


def find_rewrite(newer: str, older: str) -> Rewrite | None:
    """Return what the newer statement says in the only place where it differs from the
    older one.
    """
    new, old = _tokens(newer), _tokens(older)
    start = _count_equal(new, old)
    end = _count_equal(new[start:][::-1], old[start:][::-1])
    before, after = new[:start], new[len(new) - end :]
    value, former = new[start : len(new) - end], old[start : len(old) - end]
    if not (1 <= len(value) <= _MAX_VALUE_WORDS and 1 <= len(former) <= _MAX_VALUE_WORDS):
        return None
    if not _is_place_of_value(_lower(before), _lower(after), value, former):
        return None
    return Rewrite(" ".join(value), " ".join(former))


def is_event(text: str) -> bool:
    """Whether a statement says what happened, not how something is."""
    return _is_event(_lower(_tokens(text)))


def _is_event(words: Sequence[str]) -> bool:
    return any(map(_EVENT.match, words)) and not _IS & {*words}


def _tokens(text: str) -> list[str]:
    found = (match[0].strip(_EDGES) for match in _TOKEN.finditer(_SINCE.sub("", text)))
    return [token for token in found if token and token.casefold() not in _FILLERS]


def _lower(tokens: Sequence[str]) -> list[str]:
    return [token.casefold() for token in tokens]


def _count_equal(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(_lower(one), _lower(other), strict=False)
    return next(
        (place for place, (left, right) in enumerate(pairs) if left != right),
        min(len(one), len(other)),
    )


def _is_place_of_value(
    before: Sequence[str], after: Sequence[str], value: Sequence[str], former: Sequence[str]
) -> bool:
    if len(before) < _MIN_BEFORE or (after[:1] and after[0] in _AUXILIARIES):
        return False  # the place belongs to the subject
    if _is_event(before):
        return False
    is_stated = before[-1] in _IS
    telling = sum(word not in english_stop_words() for word in (*before, *after))
    if all(map(_has_digit, (value, former))):
        return telling >= 1 and before[-1] not in _NUMBERED
    if all(is_day_or_switch(part[-1]) for part in (value, former)):
        return telling >= 1
    if _SINGLE & {*before}:
        return telling >= 1
    is_last = not any(word not in english_stop_words() for word in after)
    are_names = all(part[0][:1].isupper() for part in (value, former))
    return are_names and is_last and telling >= (1 if is_stated else 2)


def _has_digit(tokens: Sequence[str]) -> bool:
    return any(character.isdigit() for token in tokens for character in token)
