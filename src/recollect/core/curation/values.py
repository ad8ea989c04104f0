"""The values of a statement: what may change while its subject stays the same.

Numbers with their units, times, amounts, versions, dates, names and switches. A value is compared
with another one only if both answer the same question, so each has a key: what it counts or is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from recollect.core.recall.relevance import stem
from recollect.core.text.analysis import STOP_WORDS
from recollect.core.text.languages import guess
from recollect.core.text.segments import words
from recollect.core.text.stop_words import stop_words


class Value(NamedTuple):
    """`key` says what it is a value of; `text` is how it is written."""

    key: str
    value: str
    text: str


_NUMBER_WORDS: Final = {
    word: str(number)
    for number, forms in enumerate(
        (
            "zero null cero ноль",
            "one once single ein eine einen un une uno una один одна",
            "two twice zwei zweimal deux dos два две",
            "three thrice drei dreimal trois tres три",
            "four vier quatre cuatro четыре",
            "five fünf cinq cinco пять",
            "six sechs seis шесть",
            "seven sieben sept siete семь",
            "eight acht huit ocho восемь",
            "nine neun neuf nueve девять",
            "ten zehn dix diez десять",
            "eleven elf onze",
            "twelve zwölf douze doce двенадцать",
        )
    )
    for word in forms.split()
} | {
    "once": "1", "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5",
    "sixth": "6", "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10", "fifteen": "15",
    "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100",
    "zwanzig": "20", "vingt": "20", "veinte": "20", "двадцать": "20",
}  # fmt: skip
# "One" and its like are more often articles than numbers: only before a unit of time or a count.
_ARTICLES: Final = frozenset(
    ["a", "an", "ein", "eine", "einen", "un", "une", "uno", "una", "один", "одна", "second"]
)
_WEEKDAYS: Final = {
    form: str(day)
    for day, forms in enumerate(
        (
            "monday montag lundi lunes понедельник понедельникам",
            "tuesday dienstag mardi martes вторник вторникам",
            "wednesday mittwoch mercredi miércoles среда среду средам",
            "thursday donnerstag jeudi jueves четверг четвергам",
            "friday freitag vendredi viernes пятница пятницу пятницам",
            "saturday samstag samedi sábado суббота субботу субботам",
            "sunday sonntag dimanche domingo воскресенье воскресеньям",
        ),
        start=1,
    )
    for form in forms.split()
}
_MONTHS: Final = {
    form: str(month)
    for month, forms in enumerate(
        (
            "january januar janvier enero января январь",
            "february februar février febrero февраля февраль",
            "march märz mars marzo марта март",
            "april avril abril апреля апрель",
            "mai mayo мая май",
            "june juni juin junio июня июнь",
            "july juli juillet julio июля июль",
            "august août agosto августа август",
            "september septembre septiembre сентября сентябрь",
            "october oktober octobre octubre октября октябрь",
            "november novembre noviembre ноября ноябрь",
            "december dezember décembre diciembre декабря декабрь",
        ),
        start=1,
    )
    for form in forms.split()
}
_HAN_DAYS: Final = dict(zip("一二三四五六日天月火水木金土", "12345677123456", strict=True))
_HAN_NUMBERS: Final = dict(zip("一二三四五六七八九十", map(str, range(1, 11)), strict=True))
_HAN_DAY: Final = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])|([月火水木金土日])曜")
_HAN_NUMBER: Final = re.compile(
    r"(?<![一二三四五六七八九十])([一二三四五六七八九十])(点|時|个|個|人|次|回|台|本|天|名)"
)
_SWITCHES: Final = {
    "on": "on", "enabled": "on", "active": "on", "activated": "on", "allowed": "on",
    "off": "off", "disabled": "off", "inactive": "off", "deactivated": "off", "forbidden": "off",
    "true": "on", "false": "off", "open": "on", "closed": "off",
    "aktiviert": "on", "deaktiviert": "off", "activé": "on", "désactivé": "off",
    "activado": "on", "desactivado": "off", "включен": "on", "включён": "on", "включена": "on",
    "выключен": "off", "отключен": "off", "отключена": "off",
}  # fmt: skip
_DAYS_AND_SWITCHES: Final = frozenset([*_WEEKDAYS, *_MONTHS, *_SWITCHES])
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
_NO_UNITS: Final = frozenset(
    [
        "ones",
        "per",
        "each",
        "about",
        "around",
        "more",
        "de",
        "des",
        "del",
        "und",
        "oder",
        "y",
        "et",
        "и",
    ]
)
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
# Two names that only a language with capitals shows, identifiers, and titles in quotation marks.
_QUOTED: Final = re.compile(r"[\"“„«]([^\"“”„«»]{2,60})[\"”“»]|(?<!\w)'([^']{2,60})'(?!\w)")
_IDENTIFIER: Final = re.compile(
    r"[\w-]+(?:[./@_:][\w-]+)+/?|/[\w./-]+|\b[a-z]+[A-Z]\w+|\b\w*\d[A-Za-z]\w*"
)
_CAPITAL: Final = re.compile(r"[^\W\d_]['’\w-]*")
_NUMBERED: Final = frozenset(
    [
        "port",
        "version",
        "level",
        "page",
        "chapter",
        "episode",
        "room",
        "extension",
        "schema",
        "release",
        "build",
    ]
)
# Units in which anything is counted: alone they do not say what a number is about.
_TIME_UNITS: Final = frozenset(
    map(stem, ["day", "week", "month", "year", "hour", "minute", "second", "time"])
)
_LOOSE: Final = frozenset({"", "month", "year", "weekday", *_TIME_UNITS})


def find_values(text: str) -> list[Value]:
    """The values of one statement, in their order."""
    return [
        *_amounts(text),
        *_number_words(text),
        *_days(text),
        *_switches(text),
        *_frequencies(text),
    ]


def find_names(text: str) -> frozenset[str]:
    """Names, titles and identifiers, in lower case. The first word of a sentence counts if it is
    written with a capital elsewhere too, or if it is followed by another capital.
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
        if low in STOP_WORDS or low in _WEEKDAYS or low in _MONTHS or low in _PRONOUNS:
            continue
        starts = place == 0 or text[: token.start()].rstrip()[-1:] in set('.!?:\n"“-–—;')
        followed = place + 1 < len(tokens) and tokens[place + 1][0][0].isupper()
        if not starts or (followed and len(low) > 2):
            found.add(low)
    return frozenset(name for name in found if name)


_PRONOUNS: Final = frozenset(
    [
        "i",
        "i'm",
        "i've",
        "i'd",
        "i'll",
        "it's",
        "let's",
        "that's",
        "what's",
        "you",
        "we",
        "they",
        "he",
        "she",
    ]
)


def _amounts(text: str) -> Iterator[Value]:
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
            for unit in _units(text, match.start(), match.end()):
                yield Value(unit, digits, written)
    for match in _HAN_NUMBER.finditer(text):
        yield Value(match[2], _HAN_NUMBERS[match[1]], match[0])


def _number_words(text: str) -> Iterator[Value]:
    for match in _LETTERS.finditer(text):
        low = match[0].casefold()
        number = _NUMBER_WORDS.get(low, "1" if low in ("a", "an") else None)
        if number is None:
            continue
        units = _units(text, match.start(), match.end())
        if low in ("once", "twice", "thrice"):
            units = [stem("time")]
        elif low in _ARTICLES:
            units = [unit for unit in units[:1] if unit in _TIME_UNITS]
        elif low == "one":
            units = [unit for unit in units if unit]
        for unit in units:
            yield Value(unit, number, match[0])


def _units(text: str, start: int, end: int) -> list[str]:
    """What a number counts: the words behind it, or the one before it."""
    before = _BEFORE.search(text[max(0, start - 40) : start])
    if before and before[1].casefold() in _NUMBERED:
        return [before[1].casefold()]
    units: list[str] = []
    after = _AFTER.match(text, end)
    for word in after[0].split() if after else ():
        low = word.strip("-").casefold()
        if low in _MONTHS or low in _WEEKDAYS:
            return ["day"]
        if low in STOP_WORDS or low in _NO_UNITS:
            break
        units.append(stem(low.removesuffix("'s")))
    if units:
        return units
    if _SAYS_WHICH.match(text, end):
        return []
    if before and before[1].casefold() not in STOP_WORDS:
        return [stem(before[1].casefold())]
    return [""]


def _frequencies(text: str) -> Iterator[Value]:
    for match in _FREQUENCY.finditer(text):
        word = " ".join(match[0].casefold().replace("-", " ").split())
        yield Value("frequency", _FREQUENCIES.get(word, word), match[0])


def _days(text: str) -> Iterator[Value]:
    for word in re.findall(r"[^\W\d_]+", text):
        low = word.casefold()
        singular = low.removesuffix("s")
        if low in _WEEKDAYS or singular in _WEEKDAYS:
            yield Value("weekday", _WEEKDAYS.get(low) or _WEEKDAYS[singular], word)
        elif low in _MONTHS:
            yield Value("month", _MONTHS[low], word)
    for match in _HAN_DAY.finditer(text):
        yield Value("weekday", _HAN_DAYS[match[1] or match[2]], match[0])


def _switches(text: str) -> Iterator[Value]:
    for match in _SWITCH_STATES.finditer(text):
        state = _SWITCHES.get(match[1].casefold())
        if state is not None:
            yield Value("switch", state, match[1])


def is_day_or_switch(word: str) -> bool:
    low = word.casefold()
    return bool({low, low.removesuffix("s")} & _DAYS_AND_SWITCHES)


def is_loose(value: Value) -> bool:
    """Whether the value's key says little of what it is a value of."""
    return value.key in _LOOSE


# What people say before they change the subject.
_ASIDES: Final = frozenset(
    ["way", "speaking", "lately", "actually", "currently", "already", "recently", "now"]
)


def find_subject(text: str) -> frozenset[str]:
    """What a statement is about: the stems of its telling words, without values."""
    said = words(text)
    stopped = STOP_WORDS.union(*map(stop_words, guess(said)))
    return frozenset(
        stem(word)
        for word in said
        if word not in stopped
        and word not in _NUMBER_WORDS
        and word not in _WEEKDAYS
        and word not in _MONTHS
        and not any(map(str.isdigit, word))
        and len(word) > 1
        and word not in _ASIDES
    )
