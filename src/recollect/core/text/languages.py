"""Guess the languages of a text: by its script and, if languages share one, by its stop words and
letters. Since it is a guess, words are also indexed as they are written.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from functools import cache
from typing import Final

from recollect.core.text.stop_words import listed_languages, stop_words

# First and last character of each script, and its languages, of which the first is the guess.
_SCRIPTS: Final = (
    (0x0041, 0x024F, "latin"), (0x0370, 0x03FF, "greek"), (0x0400, 0x052F, "cyrillic"),
    (0x0531, 0x058F, "armenian"), (0x0591, 0x05F4, "hebrew"), (0x0600, 0x06FF, "arabic"),
    (0x0750, 0x077F, "arabic"), (0x08A0, 0x08FF, "arabic"), (0x0900, 0x097F, "devanagari"),
    (0x0980, 0x09FF, "bengali"), (0x0B80, 0x0BFF, "tamil"), (0x1E00, 0x1EFF, "latin"),
    (0x1F00, 0x1FFF, "greek"), (0xFB1D, 0xFB4F, "hebrew"), (0xFB50, 0xFDFF, "arabic"),
    (0xFE70, 0xFEFE, "arabic"), (0xFF21, 0xFF5A, "latin"),
)  # fmt: skip
_LANGUAGES: Final = {
    "latin": (
        "en", "de", "fr", "es", "pt", "it", "nl", "sv", "da", "no", "fi", "hu", "ro", "tr", "pl",
        "cs", "ca", "id", "vi", "et", "lt", "eu", "ga",
    ),
    "cyrillic": ("ru", "uk", "bg", "sr"),
    "arabic": ("ar", "fa"),
    "devanagari": ("hi", "ne"),
    "greek": ("el",),
    "hebrew": ("he",),
    "armenian": ("hy",),
    "bengali": ("bn",),
    "tamil": ("ta",),
}  # fmt: skip
# Letters that few languages have.
_LETTERS: Final = {
    "de": "äöüß", "fr": "àâçèéêëîïôùûœ", "es": "ñáéíóúü¿¡", "pt": "ãõçáâéêíóôú", "it": "àèéìòù",
    "sv": "åäö", "da": "æøå", "no": "æøå", "fi": "äö", "hu": "őűáéíóöúü", "ro": "ăâîșțşţ",
    "tr": "ğışçöü", "pl": "ąćęłńóśźż", "cs": "ěščřžýáíéúůťďň", "ca": "àèéíòóúçïü", "et": "õäöü",
    "vi": "ăâđêôơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹàáãèéìíòóõùúý",
    "lt": "ąčęėįšųūž", "ga": "áéíóú", "uk": "іїєґ", "bg": "ъщ", "sr": "јљњђћџ", "fa": "پچژگکی",
    "ne": "ँ",
}  # fmt: skip
_SAMPLE: Final = 2_000
"""The number of words to guess by."""
_MIN_SECOND_SHARE: Final = 0.5
"""A language with this share of the best one's evidence is also a language of the text."""
_MIN_SCORE: Final = 2.0
"""The evidence that a second language needs: about two stop words of its own."""
_MIN_WORDS: Final = 2
"""The number of words that must indicate a language, since one may be a name: "Los Angeles",
"iPhone Pro"."""
_PRIOR: Final = 0.5
"""Evidence for English in a text without any accent."""
_SHORT: Final = 8
"""In a text of up to this many words, one stop word or letter of a language is enough."""


# Written without spaces; Chinese, Japanese and Korean are distinguished by their segments.
_UNSPACED: Final = (
    (0x0E00, 0x0E7F, "th"), (0x0E80, 0x0EFF, "lo"), (0x1000, 0x109F, "my"), (0x1780, 0x17FF, "km"),
)  # fmt: skip

UNKNOWN: Final = "und"
"""A language in a script of no known language."""


def guess_unspaced_language(character: str) -> str:
    """Return the language of a character in a script without spaces; empty if unknown."""
    code = ord(character)
    return next((name for first, last, name in _UNSPACED if first <= code <= last), "")


def script_of(word: str) -> str:
    """Return the script of a word's first letter; empty if no language here is written in it."""
    code = ord(word[0])
    if code < 0x250:
        return "latin"
    for first, last, name in _SCRIPTS:
        if first <= code <= last:
            return name
    return ""


def languages_of(script: str, languages: Collection[str]) -> tuple[str, ...]:
    """Return those of the languages that are written in a script."""
    return tuple(each for each in _LANGUAGES.get(script, ()) if each in languages)


def share_script(language: str, others: Collection[str]) -> bool:
    """Whether a language is written in the script of one of the others."""
    own = next((known for known in _LANGUAGES.values() if language in known), (language,))
    return any(other in own for other in others)


def guess(words: Iterable[str], named: Collection[str] = ()) -> tuple[str, ...]:
    """Return the languages of a text with these words, in lower case; `named` languages are
    trusted.

    Not for scripts whose words are written without spaces.
    """
    by_script: dict[str, Counter[str]] = {}
    for word, _ in zip(words, range(_SAMPLE), strict=False):
        # A single letter is part of a name: the v of v2, or the s of k8s.
        if not word[0].isdigit() and (len(word) > 1 or not word.isascii()):
            by_script.setdefault(script_of(word), Counter())[word] += 1
    found: list[str] = []
    total = sum(counted.total() for counted in by_script.values())
    for script, counted in sorted(by_script.items(), key=lambda each: -each[1].total()):
        known = _LANGUAGES.get(script, ())
        if given := [each for each in known if each in named]:
            found += given
        elif len(known) > 1:
            found += _select_best(counted, known)
        elif counted.total() > 1 or total <= _SHORT:  # else a Greek letter, say, or a name
            found += known
    return tuple(found)


def _select_best(words: Counter[str], known: tuple[str, ...]) -> list[str]:
    evidence = _evidence(words)
    if all(map(str.isascii, words)):
        evidence[known[0]] += _PRIOR
    ranked = sorted(known, key=lambda each: -evidence.get(each, 0.0))
    best, second = (evidence.get(each, 0.0) for each in ranked[:2])
    if best < 1.0 and words.total() > _SHORT:
        return [known[0]]
    if ranked[0] != known[0] and sum(_indicates(word, ranked[0]) for word in words) < _MIN_WORDS:
        return [known[0], ranked[0]]
    return ranked[: 2 if second >= max(_MIN_SCORE, _MIN_SECOND_SHARE * best) else 1]


def _indicates(word: str, language: str) -> bool:
    letters = _index_by_letter().get(language, frozenset())
    return language in _index_by_word().get(word, ()) or not letters.isdisjoint(word)


def _evidence(words: Counter[str]) -> dict[str, float]:
    evidence: dict[str, float] = defaultdict(float)
    by_word, by_letter = _index_by_word(), _index_by_letter()
    for word, times in words.items():
        for language in (speaking := by_word.get(word, ())):
            evidence[language] += min(times, 3) / len(speaking)
        if not word.isascii():
            for language, letters in by_letter.items():
                if not letters.isdisjoint(word):
                    evidence[language] += 0.25
    return evidence


@cache
def _index_by_word() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for language in listed_languages():
        for word in stop_words(language):
            found.setdefault(word, []).append(language)
    return found


@cache
def _index_by_letter() -> dict[str, frozenset[str]]:
    return {language: frozenset(letters) for language, letters in _LETTERS.items()}
