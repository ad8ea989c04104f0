"""Turn a German subordinate clause into a sentence: its verb goes back to the second place.

"dass der Server in Graz steht" becomes "Der Server steht in Graz." Only what is certain is turned:
a subject that is seen to end, and a verb from a list. Nothing is returned of the rest.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from recollect.resources import read_lists

_CAPITAL: Final = r"[A-ZÄÖÜ][\w.&/-]*"
_ADJECTIVES: Final = r"(?:[a-zäöüß-]+e[rnms]? )*"
_ARTICLE: Final = r"(?:der|die|das|eine?|alle|jede[rs]?|beide|(?:mein|dein|sein|ihr|unser|kein)e?)"
_OF: Final = r"(?:des|der|(?:mein|dein|sein|ihr|unser|ein)e[rs])"
# With its article and what it is of, or a name; or a pronoun. A second noun may belong to it or
# not: which one is not seen.
_SUBJECT: Final = re.compile(
    rf"(?:{_ARTICLE} {_ADJECTIVES}{_CAPITAL}(?: {_OF} {_ADJECTIVES}{_CAPITAL})?+"
    rf"|(?:(?:Herr|Frau|Dr\.) )?{_CAPITAL}|ich|du|er|sie|es|wir|ihr|man|alle|niemand)"
    rf" (?!{_CAPITAL}|vo[nm] |und )"
)
# "dass er hat gehen müssen": the verb is not the last word.
_TWO_INFINITIVES: Final = re.compile(r" (?:hat|haben|hatten?|wird|werden) .*\w+en \w+en$")


def main_clause(clause: str) -> str | None:
    """Return the clause as a sentence; None if that is not certain."""
    text = clause.rstrip(".! ")
    clause_end = text.find(",")
    head, tail = (text, "") if clause_end < 0 else (text[:clause_end], text[clause_end:])
    body, _, last = head.rpartition(" ")
    subject = _SUBJECT.match(f"{body} ")
    verb = _split_verb(last)
    if subject is None or verb is None or _TWO_INFINITIVES.search(head):
        return None
    middle = body[subject.end() :]
    if not middle:
        return None
    prefix, finite = verb
    moved = " ".join(filter(None, (subject[0].strip(), finite, middle, prefix)))
    return f"{moved[0].upper()}{moved[1:]}{tail}{clause[len(text) :]}"


def _split_verb(word: str) -> tuple[str, str] | None:
    """Return the part of a verb that stays at the end, if it has one, and the part that moves."""
    verbs, prefixes = _words()
    if word in verbs:
        return "", word
    return next(
        (
            (prefix, word[len(prefix) :])
            for prefix in prefixes
            if word.startswith(prefix) and word[len(prefix) :] in verbs
        ),
        None,
    )


@cache
def _words() -> tuple[frozenset[str], tuple[str, ...]]:
    lists = read_lists("recollect.core.agents", "capture.txt")
    return frozenset(lists["finite"]), lists["separable"]
