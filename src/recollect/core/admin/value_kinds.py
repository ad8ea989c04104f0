"""What each named value accepts, in words: one message for a value of the wrong type, from every
entry point.

Limits on values of the right type are defined elsewhere (`core/memory/memory.py`,
`core/recall/request.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from numbers import Integral, Real
from typing import Final
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.fields import Kind
from recollect.core.memory.memory import CATEGORIES, FIELDS, STATED_FIELDS, Scope
from recollect.core.recall.request import LEGS
from recollect.core.recall.settings import LEGAL


@dataclass(frozen=True, slots=True)
class Takes:
    """The type of a value, what to pass instead of another type, and how to check it."""

    kind: str
    remedy: str
    fits: Callable[[object], bool]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, Collection) and all(map(_is_text, value))


def _are_ids(value: object) -> bool:
    return isinstance(value, Collection) and all(isinstance(id, UUID) for id in value)


def _are_weights(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_number, value.values()))


_TEXT: Final = Takes("a text", "Pass a text.", _is_text)
_TEXTS: Final = Takes("a list of texts", 'Pass a list of texts, such as ["staging"].', _are_texts)
_WHOLE: Final = Takes("a whole number", "Pass a whole number, such as 10.", _is_whole)
_SWITCH: Final = Takes(
    "true or false", "Pass true or false.", lambda value: isinstance(value, bool)
)
_MOMENT: Final = Takes(
    "a date and time with a time zone",
    "Pass a date and time with a time zone, such as 2026-01-31T09:30:00Z.",
    lambda value: isinstance(value, datetime),
)
_ID: Final = Takes(
    "a full id",
    "Pass the 36 characters of an id, such as 019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9e.",
    lambda value: isinstance(value, UUID),
)
_OF_KIND: Final[Mapping[Kind, Takes]] = {
    "text": _TEXT,
    "texts": _TEXTS,
    "number": Takes("a number", "Pass a number.", _is_number),
    "flag": _SWITCH,
    "moment": _MOMENT,
}
TAKES: Final[Mapping[str, Takes]] = {
    **{name: _OF_KIND[FIELDS[name].kind] for name in STATED_FIELDS},
    "category": Takes("a text", f"Choose one of: {', '.join(CATEGORIES)}.", _is_text),
    "categories": Takes(
        "a list of texts", f"Pass a list of some of: {', '.join(CATEGORIES)}.", _are_texts
    ),
    "importance": Takes("a number", "Pass a number from 0 (trivial) to 1 (vital).", _is_number),
    **dict.fromkeys(("sessions", "session_ids"), _TEXTS),
    **dict.fromkeys(("query", "q", "expanded_query", "cursor", "owner", "label"), _TEXT),
    **dict.fromkeys(("with_global", "forgotten", "forever", "explain"), _SWITCH),
    **dict.fromkeys(("limit", "based_on", "grace_seconds"), _WHOLE),
    **dict.fromkeys(("since", "until", "as_of", "expires_at", "created_at", "updated_at"), _MOMENT),
    **dict.fromkeys(("id", "target"), _ID),
    "exclude": Takes("a list of ids", "Pass a list of full ids.", _are_ids),
    "weights": Takes(
        "a number for each leg",
        f'Pass numbers by leg, such as {{"{LEGS[0]}": 1.0}}.',
        _are_weights,
    ),
    "links": Takes(
        "a list of links",
        'Pass a list of links, such as [{"kind": "see_also", "target": "019cc2a7-…"}].',
        lambda value: isinstance(value, Collection),
    ),
    "scope": Takes(
        "a scope",
        'Pass a scope, such as {"project": "shop"}; in Python, Scope(project="shop").',
        lambda value: isinstance(value, Scope),
    ),
}
_MAY_BE_NONE: Final = {
    *("is_sensitive", "id", "since", "until", "as_of", "cursor", "based_on", "weights"),
    *(name for name in STATED_FIELDS if FIELDS[name].is_optional),
}


def check_kinds_of(values: Mapping[str, object]) -> None:
    """Raise InvalidInput for the first value of the wrong type."""
    for name, value in values.items():
        if value is None and name in _MAY_BE_NONE:
            continue
        if name in TAKES and not TAKES[name].fits(value):
            raise wrong_kind(name, name)


def wrong_kind(field: str, name: str) -> InvalidInput:
    """Return the error for a value of the wrong type. `field` is the path to the value, `name` its
    name in TAKES.
    """
    if name in TAKES:
        takes = TAKES[name]
        return InvalidInput(f"{field} is not {takes.kind}", field=field, remedy=takes.remedy)
    if name in LEGAL:
        return InvalidInput(
            f"{field} has a value of the wrong type", field=field, remedy=LEGAL[name].remedy
        )
    if name in LEGS:
        return InvalidInput(
            f"{field} is not a number", field=field, remedy="Pass a number from 0 to 5."
        )
    return InvalidInput(
        f"{field} has a value of the wrong type", field=field, remedy=f"Fix {field}."
    )
