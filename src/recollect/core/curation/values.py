"""The values of a statement: what may change while its subject stays the same.

Numbers with their units, times, amounts, versions, dates, names and switches. A value is compared
with another one only if both answer the same question, so each has a key: what it counts or is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from recollect.core.recall.relevance import stem
from recollect.core.text.languages import guess
from recollect.core.text.segments import words
from recollect.core.text.stop_words import english_stop_words, stop_words
from recollect.resources import read_lists


class Value(NamedTuple):
    """`key` says what it is a value of; `text` is how it is written."""

    key: str
    value: str
    text: str


def _read() -> Mapping[str, tuple[str, ...]]:
    return read_lists("recollect.core.curation", "values.txt")


@cache
def _read_words(heading: str) -> frozenset[str]:
    return frozenset(_read()[heading])


@cache
def _read_values(heading: str) -> Mapping[str, str]:
    """The value of each word."""
    lines = (line.split(": ") for line in _read()[heading])
    return {word: value for value, words in lines for word in words.split()}


_HAN_DAYS: Final = dict(zip("一二三四五六日天月火水木金土", "12345677123456", strict=True))
_HAN_NUMBERS: Final = dict(zip("一二三四五六七八九十", map(str, range(1, 11)), strict=True))
_HAN_DAY: Final = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])|([月火水木金土日])曜")
_HAN_NUMBER: Final = re.compile(
    r"(?<![一二三四五六七八九十])([一二三四五六七八九十])(点|時|个|個|人|次|回|台|本|天|名)"
)
_SWITCH_STATES: Final = re.compile(
    r"\b(?:is|are|was|were|be|been|turned|switched|set to|ist|sind|est|sont|está|están)"
    r"\s+(?:now |jetzt |ahora |maintenant )?(\w+)",
    re.IGNORECASE,
)
_AMOUNT: Final = re.compile(
    r"(?P<money>[$€£¥]\s?)?(?<![A-Za-z0-9_.])(?P<number>\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?"
    r"|\d+(?:[.:,/-]\d+)*)"
    r"(?P<suffix>st|nd|rd|th)?(?P<unit>\s?%|\s?(?:円|元|年|月|日|点|時|分|秒|人|回|次|个|個|台))?"
    r"(?:[\s-]?(?P<ampm>am|pm)\b)?",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(r"(?:[ \t-]+[^\W\d_]['’\w-]*){1,3}")
_BEFORE: Final = re.compile(r"([^\W\d_][\w-]*)(?:\s+of)?[\s:#=]*$")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
# "Invoice 1001 was paid": the number says which one is meant, so it is part of a name.
_SAYS_WHICH: Final = re.compile(r"\s+(?:is|are|was|were|has|have|had|will|can)\b", re.IGNORECASE)
_NUMBERED_NAME: Final = re.compile(rf"[^\W\d_]+\s+#?\d+(?={_SAYS_WHICH.pattern})", re.IGNORECASE)
_FREQUENCY: Final = re.compile(
    r"\b(?:every (?:other )?(?:day|week|month|year)|every (?:two|2) weeks|bi-?weekly|daily"
    r"|weekly|monthly"
    r"|yearly|täglich|wöchentlich|monatlich|quotidien|hebdomadaire|mensuel|diari[oa]|semanal"
    r"|mensual"
    r"|ежедневно|еженедельно|ежемесячно)\b|毎日|毎週|毎月|每天|每周|每月",
    re.IGNORECASE,
)
_FREQUENCIES: Final = {
    "daily": "every day", "weekly": "every week", "monthly": "every month", "yearly": "every year",
    "biweekly": "every other week", "bi weekly": "every other week",
    "every two weeks": "every other week", "every 2 weeks": "every other week",
}  # fmt: skip
# Names: titles in quotation marks, identifiers and, in a language with capitals, capitalised words.
_QUOTED: Final = re.compile(r"[\"“„«]([^\"“”„«»]{2,60})[\"”“»]|(?<!\w)'([^']{2,60})'(?!\w)")
_IDENTIFIER: Final = re.compile(
    r"[\w-]+(?:[./@_:][\w-]+)+/?|/[\w./-]+|\b[a-z]+[A-Z]\w+|\b\w*\d[A-Za-z]\w*"
)
_CAPITAL: Final = re.compile(r"[^\W\d_]['’\w-]*")
# Units in which anything is counted: by themselves they do not say what a number is about.
_TIME_UNITS: Final = frozenset(
    map(stem, ["day", "week", "month", "year", "hour", "minute", "second", "time"])
)
_LOOSE: Final = frozenset({"", "month", "year", "weekday", *_TIME_UNITS})


def find_values(text: str) -> list[Value]:
    """Find the values of one statement, kind by kind."""
    return [
        *_find_amounts(text),
        *_find_number_words(text),
        *_find_days(text),
        *_find_switches(text),
        *_find_frequencies(text),
    ]


def find_names(text: str) -> frozenset[str]:
    """Find names, titles and identifiers, in lower case. The first word of a sentence counts only
    if another capital follows it, or if it is capitalised elsewhere too.
    """
    found = {(one or other).strip().casefold() for one, other in _QUOTED.findall(text)} | {
        match[0].casefold().strip(".:/")
        for pattern in (_IDENTIFIER, _NUMBERED_NAME)
        for match in pattern.finditer(text)
    }
    tokens = list(_CAPITAL.finditer(text))
    for place, token in enumerate(tokens):
        word = token[0]
        if not word[0].isupper() or len(word) < 2:
            continue
        low = word.casefold().removesuffix("'s").removesuffix("’s")
        if low in english_stop_words() or _is_day(low) or low in _read_words("pronouns"):
            continue
        starts = place == 0 or text[: token.start()].rstrip()[-1:] in set('.!?:\n"“-–—;')
        followed = place + 1 < len(tokens) and tokens[place + 1][0][0].isupper()
        if not starts or (followed and len(low) > 2):
            found.add(low)
    return frozenset(name for name in found if name)


def _find_amounts(text: str) -> Iterator[Value]:
    for match in _AMOUNT.finditer(text):
        number, written = match["number"], match[0].strip()
        digits = re.sub(r"(?<=\d)[, ](?=\d{3}\b)", "", number)
        if match["money"]:
            yield Value("money", digits, written)
        elif match["ampm"] or re.fullmatch(r"\d{1,2}:\d\d", number):
            yield Value("clock", digits + (match["ampm"] or "").lower(), written)
        elif match["unit"]:
            yield Value(match["unit"].strip(), digits, written)
        elif re.fullmatch(r"(19|20)\d\d", number):
            yield Value("year", digits, number)
        else:
            for unit in _find_units(text, match.start(), match.end()):
                yield Value(unit, digits, written)
    for match in _HAN_NUMBER.finditer(text):
        yield Value(match[2], _HAN_NUMBERS[match[1]], match[0])


def _find_number_words(text: str) -> Iterator[Value]:
    for match in _LETTERS.finditer(text):
        low = match[0].casefold()
        number = _read_values("numbers").get(low, "1" if low in ("a", "an") else None)
        if number is None:
            continue
        units = _find_units(text, match.start(), match.end())
        if low in ("once", "twice", "thrice"):
            units = [stem("time")]
        elif low in _read_words("articles"):
            units = [unit for unit in units[:1] if unit in _TIME_UNITS]
        elif low == "one":
            units = [unit for unit in units if unit]
        for unit in units:
            yield Value(unit, number, match[0])


def _find_units(text: str, start: int, end: int) -> list[str]:
    """Return what a number counts: the words after it, or the one before it."""
    before = _BEFORE.search(text[max(0, start - 40) : start])
    if before and before[1].casefold() in _read_words("numbered"):
        return [before[1].casefold()]
    units: list[str] = []
    after = _AFTER.match(text, end)
    for word in after[0].split() if after else ():
        low = word.strip("-").casefold()
        if _is_day(low):
            return ["day"]
        if low in english_stop_words() or low in _read_words("no units"):
            break
        units.append(stem(low.removesuffix("'s")))
    if units:
        return units
    if _SAYS_WHICH.match(text, end):
        return []
    if before and before[1].casefold() not in english_stop_words():
        return [stem(before[1].casefold())]
    return [""]


def _find_frequencies(text: str) -> Iterator[Value]:
    for match in _FREQUENCY.finditer(text):
        word = " ".join(match[0].casefold().replace("-", " ").split())
        yield Value("frequency", _FREQUENCIES.get(word, word), match[0])


def _find_days(text: str) -> Iterator[Value]:
    weekdays, months = _read_values("weekdays"), _read_values("months")
    for word in re.findall(r"[^\W\d_]+", text):
        low = word.casefold()
        singular = low.removesuffix("s")
        if low in weekdays or singular in weekdays:
            yield Value("weekday", weekdays.get(low) or weekdays[singular], word)
        elif low in months:
            yield Value("month", months[low], word)
    for match in _HAN_DAY.finditer(text):
        yield Value("weekday", _HAN_DAYS[match[1] or match[2]], match[0])


def _find_switches(text: str) -> Iterator[Value]:
    for match in _SWITCH_STATES.finditer(text):
        state = _read_values("switches").get(match[1].casefold())
        if state is not None:
            yield Value("switch", state, match[1])


def is_day_or_switch(word: str) -> bool:
    forms = (word.casefold(), word.casefold().removesuffix("s"))
    return any(_is_day(form) or form in _read_values("switches") for form in forms)


def _is_day(word: str) -> bool:
    """Whether it names a weekday or a month."""
    return word in _read_values("weekdays") or word in _read_values("months")


def is_loose(value: Value) -> bool:
    """Whether the value's key says little about what it is a value of."""
    return value.key in _LOOSE


def find_subject(text: str) -> frozenset[str]:
    """Return what a statement is about: the stems of its distinctive words, without values."""
    found = words(text)
    stopped = english_stop_words().union(*map(stop_words, guess(found)))
    return frozenset(
        stem(word)
        for word in found
        if word not in stopped
        and word not in _read_values("numbers")
        and not _is_day(word)
        and not any(map(str.isdigit, word))
        and len(word) > 1
        and word not in _read_words("asides")
    )
