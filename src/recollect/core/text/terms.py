"""The only analyzer: the terms by which a text is found, the same in every store.

A word is indexed as it is written (in lower case), without its accents, and as its stem in each
language of the text, all at one position. A query asks for a word in any of these forms, in every
language of its owner's memories, and only the best form is scored. Scripts without spaces are
indexed in pairs of characters. Names such as `OrderService`, `make_release` and `src/app.py` are
indexed whole and by their words.

Increment `VERSION` if the results change: stores then analyze their memories again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

from recollect.core.text.languages import (
    UNKNOWN,
    guess,
    guess_unspaced_language,
    languages_of,
    script_of,
)
from recollect.core.text.segments import MAX_WORD, Segment, segments, segments_except
from recollect.core.text.stop_words import stop_words

VERSION: Final = 2

Forms = tuple[str, ...]
"""The forms by which a word is found; the first is the word as written."""

WEIGHTS: Final = (1.0, 0.4, 0.2, 0.1)
"""The BM25 weights of the content, the expanded keywords, the tags and the category; the same as
those of Postgres's `ts_rank`."""

MAX_BYTES: Final = 1_000_000
"""The size of a memory's terms with their positions: Postgres stores at most a megabyte."""

MAX_POSITIONS: Final = 255
"""The positions of one term in a memory: Postgres stores no more."""

MAX_QUERY_TERMS: Final = 128

_STEMMERS: Final = {
    "ar": "arabic", "bg": "russian", "ca": "catalan", "cs": "czech", "da": "danish",
    "de": "german", "el": "greek", "en": "english", "es": "spanish", "et": "estonian",
    "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish",
    "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian",
    "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "uk": "russian",
}  # fmt: skip
# Letters with a diacritic that are letters of their own.
_OWN_LETTERS: Final = {
    "es": "ñ", "sv": "åäö", "fi": "åäö", "da": "å", "no": "å", "et": "õäöü", "tr": "çğöşü",
    "hu": "öüőű", "pl": "ó", "ru": "й", "uk": "йї", "bg": "й",
}  # fmt: skip
_ALWAYS_OWN_LETTERS: Final = "йї"
_HEBREW_PREFIXES: Final = "והבלכמש"
_HEBREW_ENDINGS: Final = ("ים", "ות")
_LETTERS_A_CHARACTER: Final = 3
"""About how many letters of other scripts say as much as one Chinese character."""
_CACHED: Final = 50_000
_SAMPLE_CHARS: Final = 4_000
"""How much of a long text is used to guess its languages when its parts are searched."""
_NAMED: Final = "lang:"
_UNWRITTEN: Final = re.compile(r"[^\w_./@:+#'\u0080-\U0010ffff-]+")
# A character and its marks; more than a few marks do not occur in writing.
_MARKED: Final = re.compile(r"[^m]m{0,8}|m{1,8}")


class Analyzed(NamedTuple):
    """A memory's terms, by field and position, and the languages of its stems."""

    fields: tuple[list[Forms], list[Forms], list[Forms], list[Forms]]
    languages: tuple[str, ...]


def analyze(text: str) -> tuple[list[Forms], tuple[str, ...]]:
    """Return the terms of a text, by position, and its languages."""
    found = segments(text)
    languages = _languages(found)
    return list(_forms(found, languages)), languages


def analyze_fields(
    content: str,
    expanded_keywords: Iterable[str],
    tags: Iterable[str],
    category: str,
) -> Analyzed:
    """Return the terms of a memory. Its fields share all their languages: a single tag says little
    about its language, and the category, one of a few English words, nothing. A tag such as
    `lang:de` names the language, which is then not guessed.
    """
    tags = list(tags)
    texts = (content, "\n".join(expanded_keywords), "\n".join(tags), category)
    found = [segments(text) for text in texts]
    languages = _languages(
        [each for field in found[:-1] for each in field], find_named_languages(tags)
    )
    room = _Room(MAX_BYTES)
    # The content comes last: however long it is, the memory is found by its tags.
    last, third, second, first = (
        list(room.limit(_forms(each, languages))) for each in reversed(found)
    )
    return Analyzed((first, second, third, last), languages)


def find_named_languages(tags: Iterable[str]) -> list[str]:
    """Return the languages that a memory's tags name."""
    return [tag.lower().removeprefix(_NAMED) for tag in tags if tag.lower().startswith(_NAMED)]


def query_forms(text: str, languages: Collection[str]) -> Sequence[Forms]:
    """Return what to look for, each word once, in the languages of the searched memories.

    The stop words of the query's own language are left out, unless there is nothing else. For a
    very long text, the beginning and the end count: the question is before or after what is pasted.
    """
    return _query_forms(text, tuple(sorted(languages)))


@lru_cache(maxsize=16)
def _query_forms(text: str, languages: tuple[str, ...]) -> Sequence[Forms]:
    """Cached, since a recall needs them in each leg, and again for each hit that it explains."""
    found = segments(text)
    own = _languages(found)
    stopped = frozenset[str]().union(*map(stop_words, own))
    distinct = dict.fromkeys(_forms(found, languages, of_query=True))
    telling = [forms for forms in distinct if forms[0] not in stopped] or list(distinct)
    if len(telling) <= MAX_QUERY_TERMS:
        return telling
    half = MAX_QUERY_TERMS // 2
    return [*telling[:half], *telling[-half:]]


class QueryTerms:
    """The words of a query, to look up in the parts of one text."""

    def __init__(self, query: str, text: str, named: Collection[str] = ()) -> None:
        """The languages are those of the beginning of the text, and of the query."""
        sample = segments(text[:_SAMPLE_CHARS])
        own = text_languages(query)
        self._languages = tuple(dict.fromkeys((*_languages(sample, named), *own)))
        self.asked = query_forms(query, self._languages)
        self._numbers: dict[str, set[int]] = {}
        for number, forms in enumerate(self.asked):
            for form in forms:
                self._numbers.setdefault(form, set()).add(number)
        self._other_words: set[str] = set()

    def find_in(self, part: str) -> set[int]:
        """Return which of `asked` are in a part of the text, by number."""
        # Few runs of characters contain a pair that is asked for, and checking that first is fast.
        composed = unicodedata.normalize("NFKC", part)
        sought = [form for form in self._numbers if form in composed]
        telling = (
            segment
            for segment in segments_except(part, self._other_words)
            if segment.kind not in ("pairs", "hangul") or _may_hold(segment.text, sought)
        )
        held: set[int] = set()
        for forms in _forms(telling, self._languages):
            if self._numbers.keys().isdisjoint(forms):
                self._other_words.add(forms[0])
            else:
                held.update(*(self._numbers.get(form, ()) for form in forms))
        return held


def _may_hold(run: str, pairs: Collection[str]) -> bool:
    composed = unicodedata.normalize("NFKC", run)
    return any(pair in composed for pair in pairs)


@lru_cache(maxsize=16)
def text_languages(text: str) -> tuple[str, ...]:
    """Return the languages of the beginning of a text, that of most of it first."""
    return _languages(segments(text[:_SAMPLE_CHARS]))


def main_language(text: str) -> str | None:
    """Return the language of most of a text; UNKNOWN if its script is that of no known language,
    and None if nothing indicates one.
    """
    found = segments(text)
    spaced = sum(len(each.text) for each in found if each.kind == "word")
    unspaced = sum(len(each.text) for each in found if each.kind in ("pairs", "hangul"))
    languages = _languages(found)
    if not languages:
        is_unknown = any(each.kind == "word" and not script_of(each.text) for each in found)
        return UNKNOWN if is_unknown else None
    return languages[-1 if _LETTERS_A_CHARACTER * unspaced > spaced else 0]


class _Room:
    """The space for a memory's terms."""

    def __init__(self, bytes: int) -> None:
        self._left = bytes
        self._counts: dict[str, int] = {}

    def limit(self, positions: Iterable[Forms]) -> Iterator[Forms]:
        counts = self._counts
        for forms in positions:
            for form in forms:
                count = counts.get(form, 0)
                counts[form] = count + 1
                if not count:
                    # The number of positions takes two bytes, at an even address.
                    self._left -= 3 + len(form.encode("utf-8", "surrogatepass"))
                if count < MAX_POSITIONS:
                    self._left -= 2
            if self._left < 0:
                return
            yield forms


def _languages(found: Sequence[Segment], named: Collection[str] = ()) -> tuple[str, ...]:
    kinds = frozenset[str]().union(*(each.classes for each in found))
    words = (each.text.lower() for each in found if each.kind == "word")
    unspaced = [name for kind, name in (("k", "ja"), ("g", "ko")) if kind in kinds]
    if "w" in kinds:
        texts = (each.text for each in found if "w" in each.classes)
        unspaced += dict.fromkeys(
            filter(None, map(guess_unspaced_language, chain.from_iterable(texts)))
        )
    if "h" in kinds and not unspaced:
        unspaced = ["zh"]
    return (*guess(words, named), *unspaced)


def _forms(
    found: Iterable[Segment], languages: Collection[str], *, of_query: bool = False
) -> Iterator[Forms]:
    known = _cache_for(tuple(sorted(languages)))
    for kind, text, classes in found:
        if kind == "word":
            forms = known.get(text)
            if forms is None:
                forms = known[text] = _forms_of(text, languages)
            if forms:
                yield forms
        elif kind == "whole":
            yield (_normalize_word(text),)
        elif kind == "symbol":
            yield (text[0],)
        else:
            yield from _pairs(Segment(kind, text, classes), of_query=of_query)


def _pairs(run: Segment, *, of_query: bool) -> Iterator[Forms]:
    """Yield each character, with its marks, together with the next. Single ones too, if one can be
    a word: Han characters, Korean syllables, and others with a mark; of a query only one that is
    alone.
    """
    characters = _characters_of(run)
    if len(characters) == 1:
        yield (characters[0],)
        return
    for place, one in enumerate(characters):
        if not of_query and (run.kind == "hangul" or len(one) > 1 or _is_han(one)):
            yield (one,)
        if place + 1 < len(characters):
            yield (one + characters[place + 1],)


def _characters_of(run: Segment) -> list[str]:
    return [*filter(None, _syllables(run.text) if run.kind == "hangul" else _characters(run))]


def _syllables(text: str) -> str:
    """Compose Hangul: macOS writes the letters of a syllable one by one."""
    pieces = range(0, len(text), MAX_WORD)
    return "".join(_normalize_word(text[at : at + MAX_WORD]) for at in pieces)


def _characters(run: Segment) -> list[str]:
    if "m" not in run.classes:
        return [_normalize_character(each) for each in run.text]
    spans = (match.span() for match in _MARKED.finditer(run.classes))
    return [_normalize_character(run.text[start:end]) for start, end in spans]


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003fffd"


_known_forms: dict[tuple[str, ...], dict[str, Forms]] = {}


def _cache_for(languages: tuple[str, ...]) -> dict[str, Forms]:
    """Return the cached forms of words in these languages."""
    if sum(map(len, [*_known_forms.values()])) >= _CACHED:  # other threads add to it
        _known_forms.clear()
    return _known_forms.setdefault(languages, {})


def _forms_of(word: str, languages: Collection[str]) -> Forms:
    written = _normalize_word(word)
    if not written or written[0].isdigit():
        return _all_forms(written, ())
    return _all_forms(written, languages_of(script_of(written), languages))


def _all_forms(written: str, languages: tuple[str, ...]) -> Forms:
    forms = [written]
    for language in languages or ("",):
        # Each language folds accents by its own rules: a letter of its own in one is an accent in
        # another.
        kept = _OWN_LETTERS.get(language, "") + _ALWAYS_OWN_LETTERS
        forms += (_fold_accents(form, kept) for form in (written, _stem(written, language)))
    return tuple(form for form in dict.fromkeys(forms) if form)


@lru_cache(maxsize=_CACHED)
def _normalize_character(text: str) -> str:
    return _normalize_word(text)


def _normalize_word(word: str) -> str:
    """Normalise case, width and composition, and remove invisible characters."""
    if word.isascii():
        return word.lower()
    seen = "".join(filter(_is_seen, word))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    # Some characters are short for several: "(1)", or words separated by spaces.
    return _UNWRITTEN.sub("", folded)


@cache
def _is_seen(character: str) -> bool:
    return (
        unicodedata.category(character) != "Cf"
        and character not in "·\u0640"
        and not ("\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef")
    )


def _fold_accents(word: str, kept: str) -> str:
    """Remove accents and vowel points, except from letters of the language's own."""
    if word.isascii():
        return word
    return "".join(each if each in kept else _to_plain(each) for each in word)


@cache
def _to_plain(character: str) -> str:
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    if (other := _ALIKE.get(character)) is not None:
        return other
    parts = unicodedata.normalize("NFD", character)
    return "".join(part for part in parts if not _is_accent(part))


def _is_accent(character: str) -> bool:
    return (
        "\u0300" <= character <= "\u036f"
        or "\u064b" <= character <= "\u065f"
        or character == "\u0670"
        or "\u0591" <= character <= "\u05c7"
    )


_ALIKE: Final = {
    "ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th",
    "ى": "ي", "ی": "ي", "ک": "ك", "ۀ": "ه", "ة": "ه",
}  # fmt: skip


def _stem(word: str, language: str) -> str:
    if language == "he":
        return _hebrew_stem(word)
    stemmer = _stemmer(language)
    return word if stemmer is None else stemmer.stemWord(word)


def _hebrew_stem(word: str) -> str:
    """Remove one prefix ("and", "the", "in", "to" and others are written together with the word)
    and the ending of the plural.
    """
    if len(word) > 3 and word[0] in _HEBREW_PREFIXES:
        word = word[1:]
    return word[:-2] if len(word) > 4 and word.endswith(_HEBREW_ENDINGS) else word


@cache
def _stemmer(language: str) -> Any:  # noqa: ANN401  # Snowball's, which has no types
    if (algorithm := _STEMMERS.get(language)) is None:
        return None
    import Stemmer  # type: ignore[import-not-found, unused-ignore]  # it has no stubs

    return Stemmer.Stemmer(algorithm)
