"""Where a text names concepts: rules over characters, none of which knows grammar.

Each rule is linear in the length of the text, since anyone may store any text. What has a shape of
its own (an address, a path, code, a version) is taken out first, so that no rule for plain words
sees its pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from recollect.core.graph.concept_words import fillers, no_names
from recollect.core.text.terms import text_languages

ConceptKind = Literal["name", "phrase", "code", "path", "version", "url", "tag", "keyword", "year"]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text that names a concept."""

    start: int
    end: int
    label: str
    kind: ConceptKind


# A title is the short first line of a text that goes on below it.
MAX_TITLE_CHARS: Final = 120
MAX_PHRASE_WORDS: Final = 3

_URL: Final = re.compile(r"\b(?:https?|ftp|ssh|git|file)://[^\s<>\"'`]+|\bwww\.[^\s<>\"'`]+")
_ENDINGS: Final = (
    "py|pyi|js|ts|tsx|jsx|md|rst|txt|json|jsonl|toml|yaml|yml|ini|cfg|conf|sql|sh|csv|tsv|html|css"
    "|go|rs|java|kt|rb|php|cpp|hpp|lock|log|env|xml|pdf|ipynb"
)
_PATH: Final = re.compile(
    r"(?<![\w/.:~@-])(?:"
    r"(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]+)*"  # /etc/hosts, ./run, ~/notes
    rf"|[\w@+-][\w.@+/-]*\.(?:{_ENDINGS})(?![\w/])"  # src/main.py, README.md
    r"|[A-Za-z]:\\[\w.\\@+-]+"  # C:\Users
    r")"
)
_QUOTED_CODE: Final = re.compile(r"`[^`\n]{2,80}`")
_IDENTIFIER: Final = re.compile(
    r"(?<![\w.-])(?:"
    r"--[a-z][\w-]+"  # --dry-run
    r"|[A-Za-z_][\w.]*\(\)"  # recall(), store.add()
    r"|[A-Za-z]\w*_\w+"  # graph_weight, MAX_LIMIT
    r"|[a-z]+[A-Z]\w*"  # camelCase
    r"|[A-Z][a-z0-9]+[A-Z]\w*[a-z]\w*"  # RecallSettings
    r")(?!\w)"
)
_VERSION: Final = re.compile(
    r"(?<![\w.-])(?:v\d+(?:\.\d+)*|\d+(?:\.\d+){2,})(?:-?(?:rc|alpha|beta|dev|a|b)\.?\d+)?"
    r"(?![\w%]|\.\d)"
)
# What may follow an address or a path in a sentence and is not part of it.
_AFTER: Final = {"url": ".,;:!?)]}", "path": ".,;:", "code": "", "version": ""}
_SHAPES: Final[tuple[tuple[ConceptKind, re.Pattern[str]], ...]] = (
    ("url", _URL),
    ("path", _PATH),
    ("code", _QUOTED_CODE),
    ("code", _IDENTIFIER),
    ("version", _VERSION),
)
# Python 3.11: its own version, not any 3.11.
_NAMED_VERSION: Final = re.compile(r"(?<![\w.-])[A-Z][\w+#]* v?\d+\.\d+(?![\w%]|\.\d)")
_YEAR: Final = re.compile(r"(?<![\w.,-])(?:1\d{3}|20\d{2})(?!\w|[.,]\d)")

# A word of a name: initials, a capitalised word, or letters after digits (3M).
_UPPER: Final = "".join(
    chr(code)
    for first, last in ((0x41, 0x24F), (0x370, 0x556), (0x1E00, 0x1FFF))
    for code in range(first, last + 1)
    if chr(code).isupper()
)
_CAPITALISED: Final = rf"(?:(?:[A-Z]\.)+|[{_UPPER}][\w'’-]*|\d+[A-Z]\w*)"
_PARTICLE: Final = (
    "(?:of|the|de|del|della|di|da|do|dos|das|du|des|la|le|el|van|von|der|den|ter|bin|ibn|al|y|e|&)"
)
NAME: Final = re.compile(
    rf"(?<![\w'’-]){_CAPITALISED}"
    rf"(?: (?:{_PARTICLE} ){{0,2}}{_CAPITALISED}| \d{{1,3}}(?![\w.,%]))*"
)
# What a single capitalised word that is no name usually looks like.
_PLAIN: Final = re.compile(
    r"[A-Z][a-z]*(?:ing|ed|ly|ions?|ments?|ness|ities|ity|ances?|ences?|ous|ful|ive|able|ical|ors|ers)"
)
_SENTENCE_END: Final = re.compile(r"[.!?:;\n\"“”(•*-]\s*$")
_WORD: Final = re.compile(r"[^\W_][\w'’-]*|[^\w\s]|\n")
# Scripts without spaces between words: the rules for capitals treat them as what separates names.
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]+"
)
# Elided articles and pronouns: l'Allemagne, dell'Italia.
_ELIDED: Final = re.compile(
    r"(?<![\w'’])(?:[cdjlmnst]|qu|un|dell|all|nell|sull|dall)['’](?=\w)", re.IGNORECASE
)
_ELIDING: Final = frozenset({"fr", "it", "ca"})
_PARENTHESES: Final = re.compile(r"\s*\([^()]*\)")


def spans(content: str) -> Iterator[Span]:
    """Find every piece that names a concept, rule by rule."""
    title_end = _title_end(content)
    if title_end:
        title = content[:title_end].strip()
        yield Span(0, title_end, _PARENTHESES.sub("", title) or title, "name")
    languages = text_languages(content)
    text = _UNSPACED.sub(_blank, content)
    for kind, pattern in _SHAPES:
        for match in pattern.finditer(text):
            yield Span(*match.span(), match.group().strip("`").rstrip(_AFTER[kind]), kind)
        text = pattern.sub(_blank, text)
    for match in _NAMED_VERSION.finditer(text):
        yield Span(*match.span(), match.group(), "version")
    for match in _YEAR.finditer(text):
        yield Span(*match.span(), match.group(), "year")
    if not _ELIDING.isdisjoint(languages):
        text = _ELIDED.sub(lambda match: " " * len(match.group()), text)
    # A title is one name; only what it has in parentheses names something else.
    aside = text.find("(", 0, title_end)
    names = name_spans(_blank_out(text, [(0, title_end if aside < 0 else aside)]), languages)
    for start, end in names:
        yield Span(start, end, text[start:end], "name")
    yield from _find_phrases(_blank_out(text, names), fillers(languages))
    if not content.isascii():
        # Imported here: compiling its patterns takes a command 30 ms, and most texts need none.
        from recollect.core.graph.caseless_names import caseless_names

        for start, end, kind in caseless_names(content):
            yield Span(start, end, content[start:end], kind)


def name_spans(text: str, languages: tuple[str, ...] = ()) -> list[tuple[int, int]]:
    """Find runs of capitalised words. A word at the start of a sentence is capitalised anyway, so
    if it looks like a plain word, it only counts if the text capitalises it elsewhere too.
    """
    plain = no_names(languages)
    runs = [
        trimmed for match in NAME.finditer(text) if (trimmed := _trim(text, *match.span(), plain))
    ]
    sure = {text[start:end] for start, end in runs if not _opens_sentence(text, start)}
    return [
        (start, end)
        for start, end in runs
        for label in (text[start:end],)
        if label in sure or not _PLAIN.fullmatch(label)
    ]


def _trim(text: str, start: int, end: int, no_names: frozenset[str]) -> tuple[int, int] | None:
    """Cut off the plain words at the start of a sentence ("When Anna"); None if there are only
    plain words.
    """
    words = text[start:end].split(" ")
    plain = [word.lower().rstrip(".'’") in no_names for word in words]
    if all(plain):
        return None
    if _opens_sentence(text, start):
        start += sum(len(word) + 1 for word in words[: plain.index(False)])
    label = text[start:end].rstrip(" '’-")
    return (start, start + len(label)) if len(label) > 1 else None


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(start - 4, 0) : start]
    return not before.strip() or _SENTENCE_END.search(before) is not None


def _find_phrases(text: str, fillers: frozenset[str]) -> Iterator[Span]:
    """Find two or three words in a row without a filler between them: mostly noun phrases."""
    run: list[re.Match[str]] = []
    for match in (*_WORD.finditer(text), None):
        if match is not None and _is_distinctive(match.group(), fillers):
            run.append(match)
            continue
        for size in range(2, MAX_PHRASE_WORDS + 1):
            for first in range(len(run) - size + 1):
                start, end = run[first].start(), run[first + size - 1].end()
                yield Span(start, end, text[start:end], "phrase")
        run = []


def _is_distinctive(word: str, fillers: frozenset[str]) -> bool:
    # In a script without capitals, two words in a row are as likely to be a name and its verb.
    return (
        len(word) > 2
        and word.lower() not in fillers
        and word[0].lower() != word[0].upper()
        and not word[0].isdigit()
        and not word.endswith("ly")
    )


def _title_end(content: str) -> int:
    """Return where the title ends; 0 if there is none."""
    first, newline, rest = content.partition("\n")
    if not newline or not rest.strip() or not 0 < len(first.strip()) <= MAX_TITLE_CHARS:
        return 0
    return 0 if first.rstrip().endswith((".", "!", "?", ":", ",", ";")) else len(first)


def _blank_out(text: str, taken: Sequence[tuple[int, int]]) -> str:
    """Replace some pieces of the text with bars, so that all others keep their positions."""
    pieces: list[str] = []
    done = 0
    for start, end in taken:
        pieces += (text[done:start], "|" * (end - start))
        done = end
    return "".join((*pieces, text[done:]))


def _blank(match: re.Match[str]) -> str:
    return "|" * len(match.group())
