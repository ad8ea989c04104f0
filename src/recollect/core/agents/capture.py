"""Find what a person says that is worth storing, by rules: no model is used, and nothing is
guessed.

Too little is better than too much: a missed memory can be repeated, while a wrong one is injected
before many prompts. So only four forms count, in which people say that something is to last: a
request to remember, a correction, a preference, a decision. A question is none of them, nor is a
sentence that depends on what was said before: a memory must make sense alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Final

from recollect.core.agents.injection import neutralize, remove_injections
from recollect.core.agents.main_clause import main_clause
from recollect.core.agents.pasted import remove_pasted
from recollect.core.recall.relevance import stem
from recollect.core.text.segments import words
from recollect.core.text.stop_words import english_stop_words
from recollect.resources import read_lists

MAX_STATEMENT: Final = 500
# "Never use tabs" is a complete instruction; two words hardly ever are.
_MIN_WORDS: Final = 3
# The most from one exchange: whoever pastes a document does not mean all of it.
MAX_STATEMENTS: Final = 5
_MAX_TEXT: Final = 20_000


@dataclass(frozen=True, slots=True)
class Statement:
    """One self-contained statement, how much it seems to matter, and when it was said, if known."""

    content: str
    category: str
    importance: float
    said_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    category: str
    importance: float


@cache
def _lists() -> Mapping[str, tuple[str, ...]]:
    return read_lists("recollect.core.agents", "capture.txt")


def _any_of(heading: str) -> str:
    """Return a pattern for any line under a heading."""
    lists = _lists()
    pattern = "|".join(lists[heading])
    while (expanded := _NAMED.sub(lambda name: f"(?:{'|'.join(lists[name[1]])})", pattern)) != (
        pattern
    ):
        pattern = expanded
    return pattern


@cache
def _search_any(heading: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_any_of(heading)})\b", re.IGNORECASE)


@cache
def _rules() -> tuple[_Rule, ...]:
    """Return the rules in order of certainty; the first match decides."""
    named = (heading.partition(" = ") for heading in _lists())
    return tuple(
        _Rule(re.compile(_any_of(f"{name}{equals}{found}"), re.IGNORECASE), category, float(number))
        for name, equals, found in named
        if equals
        for category, _, number in (found.partition(" "),)
    )


_NAMED: Final = re.compile(r"%([a-zäöü ]+)%")
# In German, a number and a full stop are an ordinal: "am 12. März".
_SENTENCE_END: Final = re.compile(
    r"(?<=[.!?])(?!(?<=\d\.)\s+(?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Quartal))"
    r"\s+(?=[\"'(A-Z0-9ÄÖÜÉÀÇ¿¡А-ЯЁ])|(?<=[。！？])|\n+"
)
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def statements(text: str, said_at: datetime | None = None) -> list[Statement]:
    """Find what to store of one person's message; pasted and injected text does not count."""
    own = remove_pasted(remove_injections(text))[:_MAX_TEXT]
    found: dict[str, Statement] = {}
    for sentence in _sentences(own):
        statement = _match_rules(sentence)
        if statement is not None:
            dated = replace(statement, said_at=said_at)
            found.setdefault(statement.content.casefold(), dated)
    return list(found.values())[:MAX_STATEMENTS]


def _sentences(text: str) -> Iterator[str]:
    for part in _SENTENCE_END.split(text):
        sentence = " ".join(_BULLET.sub("", part).split())
        if sentence:
            yield sentence


def _match_rules(sentence: str) -> Statement | None:
    if sentence.endswith(("?", "？")) or len(sentence) > MAX_STATEMENT:
        return None
    sentence = _lead_in().sub("", sentence, count=1)
    typed = sentence.replace("’", "'")
    for rule in _rules():
        found = rule.pattern.fullmatch(typed)
        if found is None:
            continue
        begin, end = found.span(found.lastindex or 0)
        matched = sentence[begin:end]
        if sentence[:begin].rstrip().casefold().endswith("dass"):
            matched = main_clause(matched) or sentence
        kept = neutralize(matched).strip(" ,;:-、，：")
        if not is_self_contained(kept):
            return None
        # "Remember: never push to main" is an order, as it is alone.
        is_wrapped = rule.category == "fact" and len(kept) < len(sentence) - 2
        inner = _match_rules(kept) if is_wrapped else None
        category = rule.category if inner is None else inner.category
        return Statement(kept[0].upper() + kept[1:], category, rule.importance)
    return None


@cache
def _lead_in() -> re.Pattern[str]:
    return re.compile(rf"\A(?:(?:{_any_of('lead in')})[,:.]?\s+)+", re.IGNORECASE)


def is_self_contained(text: str) -> bool:
    """Whether a sentence makes sense alone and is meant to last."""
    telling = [word for word in words(text) if word not in english_stop_words() and len(word) > 1]
    return (
        len(words(text)) >= _MIN_WORDS
        and len(telling) >= 2
        and not _search_any("passing").search(text)
        and not _search_any("leaning").search(text)
        and not any(part in text for part in _lists()["passing parts"])
    )


def is_personal(statement: Statement) -> bool:
    """Whether a statement is about the user or other people, and not about a project."""
    text = statement.content.replace("’", "'")
    if _search_any("about people").search(text):
        return True
    return (
        statement.category != "decision"
        and not _search_any("about a project").search(text)
        and (
            _search_any("about the user").search(text) is not None
            or any(part in text for part in _lists()["about the user, parts"])
        )
    )


def stem_telling_words(text: str) -> frozenset[str]:
    """Return the stems by which two statements are compared. "Not" counts: it reverses a
    statement.
    """
    stopped = english_stop_words() - {"not", "never", "no"}
    return frozenset(stem(word) for word in words(text) if word not in stopped)


# Below this share in common, a longer statement is about something else.
_NEAR: Final = 0.5


def adds_nothing(new: str, old: str) -> bool:
    """Whether a new statement adds nothing to an old one, in any order and form of the words."""
    return stem_telling_words(new) <= stem_telling_words(old)


def refines(new: str, old: str) -> bool:
    """Whether a statement says everything that an older one says, and a little more."""
    before, after = stem_telling_words(old), stem_telling_words(new)
    return before < after and len(before) >= _NEAR * len(after)


def is_supported(statement: str, messages: Sequence[str]) -> bool:
    """Whether most of what a model extracted from an exchange was really said in it."""
    claimed = stem_telling_words(statement)
    heard = frozenset().union(*map(stem_telling_words, messages)) if messages else frozenset()
    return bool(claimed) and len(claimed & heard) >= 0.6 * len(claimed)
