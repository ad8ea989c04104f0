"""How much a few words tell of their language in Latin script: by stop words, by letters that a
language has not, and by groups of three letters (`trigrams.txt`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from recollect.core.text.stop_words import stop_words

_TABLE: Final = Path(__file__).with_name("trigrams.txt")
_STEP: Final = 0.5
"""Of the table's levels, in natural logarithms, as all evidence here."""
_STOP_WORD: Final = 6.0
_FOREIGN_LETTERS: Final = 4.0
"""Against a language that has not all of a word's letters."""
_ENGLISH_FOREIGN_LETTERS: Final = 1.5
"""English quotes names as they are written."""
_TELLING: Final = 1.0
"""A word is for the language that leads by so much in it."""
_CLOSE: Final = 1.5
_CACHED: Final = 20_000

_LETTERS: Final = {
    "en": "", "de": "äöüß", "fr": "àâçèéêëîïôùûœ", "es": "ñáéíóúü", "pt": "ãõçáâàéêíóôú",
    "it": "àèéìòù", "nl": "éëïöü", "sv": "åäöé", "da": "æøåé", "no": "æøåéòô", "fi": "äöå",
    "hu": "őűáéíóöúü", "ro": "ăâîșțşţ", "tr": "ğışçöüâ", "pl": "ąćęłńóśźż",
    "cs": "ěščřžýáíéúůťďňó", "ca": "àèéíòóúçïü", "id": "", "et": "õäöüšž", "lt": "ąčęėįšųūž",
    "vi": "ăâđêôơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹàáãèéìíòóõùúýĩũ",
    "eu": "ñü", "ga": "áéíóú",
}  # fmt: skip
# Written alike in most languages, so they are evidence for none.
_INTERNATIONAL_TEXT: Final = """
android api app audio backend backup browser cache chat cloud code cpu css deploy docker email
frontend git github google hotel html http internet iphone java json kubernetes linux mac macos max
mini mobile mysql node online password phone php pizza postgres pro python radio react redis server
software spam sql start status style taxi team test token url video web wifi windows wlan
"""
_INTERNATIONAL: Final = frozenset(_INTERNATIONAL_TEXT.split())


class Lead(NamedTuple):
    """How far the best of other languages is ahead of the expected ones, how many words are for
    either, and the languages that are as good as the best.
    """

    languages: tuple[str, ...]
    by: float
    words_for: int
    words_against: int

    @property
    def has_most_words(self) -> bool:
        return self.words_for > 2 * self.words_against


def lead_over(expected: Collection[str], words: Iterable[str]) -> Lead:
    """What different words, in lower case, say for another language than the expected ones."""
    each = [_evidence(word) for word in words]
    totals: dict[str, float] = defaultdict(float)
    for evidence in each:
        for language, amount in evidence.items():
            totals[language] += amount
    home = max(expected, key=lambda language: totals[language])
    others = [language for language in _LETTERS if language not in expected]
    others.sort(key=lambda language: -totals[language])
    best = others[0]
    leads = [evidence.get(best, 0.0) - evidence.get(home, 0.0) for evidence in each]
    return Lead(
        tuple(other for other in others[:2] if totals[best] - totals[other] < _CLOSE),
        totals[best] - totals[home],
        sum(lead >= _TELLING for lead in leads),
        sum(lead <= -_TELLING for lead in leads),
    )


@lru_cache(maxsize=_CACHED)
def _evidence(word: str) -> Mapping[str, float]:
    if word in _INTERNATIONAL:
        return {}
    found: dict[str, float] = defaultdict(float)
    speaking = [language for language in _LETTERS if word in stop_words(language)]
    for language in speaking:
        found[language] += _STOP_WORD / len(speaking) ** 0.5
    table = _table()
    bounded = f"_{word}_"
    for place in range(len(word)):
        for language, amount in table.get(bounded[place : place + 3], ()):
            found[language] += amount
    if not word.isascii():
        letters = {letter for letter in word if not letter.isascii()}
        for language, known in _LETTERS.items():
            if not letters.issubset(known):
                is_english = language == "en"
                found[language] -= _ENGLISH_FOREIGN_LETTERS if is_english else _FOREIGN_LETTERS
    return dict(found)


@cache
def _table() -> Mapping[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {}
    for line in _TABLE.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        language, level, groups = line.split(" ")
        amount = _STEP * int(level)
        for place in range(0, len(groups), 3):
            found.setdefault(groups[place : place + 3], []).append((language, amount))
    return found
