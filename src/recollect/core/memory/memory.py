"""The stored unit, scopes, and the rules for every memory.

The rules are here, not in a shell or a store, so that every entry point rejects the same memories
with the same message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypedDict
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.fields import NOT_EXPORTED, NOT_STORED, Field, fields_of
from recollect.core.memory.links import Link, check_links
from recollect.core.text.analysis import find_unstorable, repair_text

EPISODE: Final = "episode"
CATEGORIES: Final = (
    "fact",
    "preference",
    "decision",
    "procedure",
    "lesson",
    "reference",
    "note",
    EPISODE,
)
DEFAULT_CATEGORY: Final = "fact"
DEFAULT_IMPORTANCE: Final = 0.5
# The largest limit an operator can choose: Postgres rejects a search vector over 1 MB.
MAX_CONTENT_LIMIT: Final = 100_000
MAX_NAME: Final = 200
# A clock may be off by its time zone, and a little more.
MAX_CLOCK_SKEW: Final = timedelta(days=1)
# JSON escapes a quote or a line break with two characters, and adds names and links to the texts.
_JSON_GROWTH: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Self-contained content, with what is needed to find, rank and protect it. It is recalled from
    `valid_from` until just before `valid_until`; without them, always. `changed_by` names who made
    this version. Two fields are not stored: `was_known` reports to the writer that the text was
    already stored (`core/memory/duplicates.py`), and `superseded_by` reports to the reader of one
    memory or of a listing what recall shows in its place.

    This is the table of fields (`core/memory/fields.py`). New ones are added after `changed_by`,
    with a default: an older peer does not send them.
    """

    id: UUID
    owner: str = field(metadata=NOT_EXPORTED)
    content: str
    category: str = DEFAULT_CATEGORY
    tags: tuple[str, ...] = ()
    expanded_keywords: tuple[str, ...] = ()
    importance: float = DEFAULT_IMPORTANCE
    is_sensitive: bool = False
    project: str | None = None
    session: str | None = None
    version: int = 1
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None
    links: tuple[Link, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    changed_by: str | None = field(default=None, compare=False, metadata=NOT_EXPORTED)
    was_known: bool = field(default=False, compare=False, metadata=NOT_STORED)
    superseded_by: UUID | None = field(default=None, compare=False, metadata=NOT_STORED)

    def is_valid_at(self, moment: datetime) -> bool:
        return (self.valid_from is None or self.valid_from <= moment) and (
            self.valid_until is None or moment < self.valid_until
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """A new memory as its writer describes it; the id may be the writer's own. If `is_sensitive` is
    not set, the text decides (`core/privacy/sensitive.py`). `said_at`: when it was said, if a
    program found it in an earlier conversation; it is not stored if the same text was erased,
    forgotten or replaced since.
    """

    content: str
    category: str = DEFAULT_CATEGORY
    tags: tuple[str, ...] = ()
    expanded_keywords: tuple[str, ...] = ()
    importance: float = DEFAULT_IMPORTANCE
    is_sensitive: bool | None = None
    project: str | None = None
    session: str | None = None
    id: UUID | None = None
    links: tuple[Link, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    said_at: datetime | None = None


class Changes(TypedDict, total=False):
    """The fields of an update; others stay as they are, except that a new text that contains a
    credential makes the memory sensitive (`core/privacy/sensitive.py`).
    """

    content: str
    category: str
    tags: tuple[str, ...]
    expanded_keywords: tuple[str, ...]
    importance: float
    is_sensitive: bool
    project: str | None
    session: str | None
    links: tuple[Link, ...]
    valid_from: datetime | None
    valid_until: datetime | None


FIELDS: Final = {field.name: field for field in fields_of(Memory)}
# Older versions wrote files without them.
ADDED_LATER: Final = {*[*FIELDS][[*FIELDS].index("changed_by") + 1 :]}
STORED: Final = tuple(field for field in FIELDS.values() if field.is_stored)
# What people say about a memory itself; links are about others, and stores keep the rest.
STATED_FIELDS: Final = tuple(name for name in Changes.__annotations__ if name != "links")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which of an owner's memories to search. Sessions and categories: any of those named; tags:
    all of them; the time window is half open, `since <= created_at < until`. `with_global`: include
    memories without a project; if no project is named, only those. `forgotten` memories are listed
    on request, and never recalled. `valid_at`: only memories that are valid at this moment; recall
    sets it, listings do not.
    """

    project: str | None = None
    sessions: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    with_global: bool = False
    forgotten: bool = False
    valid_at: datetime | None = None

    @property
    def is_everywhere(self) -> bool:
        """Whether it covers every memory that is valid and not forgotten."""
        return replace(self, valid_at=None) == EVERYWHERE

    def covers(self, memory: Memory) -> bool:
        return (
            (self.forgotten or memory.deleted_at is None)
            and self.covers_project(memory.project)
            and (not self.sessions or memory.session in self.sessions)
            and (not self.categories or memory.category in self.categories)
            and set(self.tags) <= set(memory.tags)
            and (self.since is None or self.since <= memory.created_at)
            and (self.until is None or memory.created_at < self.until)
            and (self.valid_at is None or memory.is_valid_at(self.valid_at))
        )

    def covers_project(self, project: str | None) -> bool:
        if self.with_global:
            return project is None or project == self.project
        return self.project is None or project == self.project


EVERYWHERE: Final = Scope()


@dataclass(frozen=True, slots=True)
class Limits:
    """The size limits of a memory."""

    content: int = 100_000
    words: int = 64
    word: int = 200
    label: int = 500
    # Fields that only a newer version knows, together and as JSON.
    unknown: int = 8_000

    @property
    def all_fields(self) -> int:
        """An upper bound for the characters of one memory's fields together, as JSON."""
        texts = self.content + 2 * self.words * self.word + 2 * self.label
        return _JSON_GROWTH * (texts + self.unknown)


def check_memory(memory: Memory, limits: Limits) -> Memory:
    """Return the memory as it will be stored: texts repaired and trimmed, tags and links without
    duplicates; or raise InvalidInput.
    """
    stated: dict[str, Any] = {
        name: _check_value(FIELDS[name], getattr(memory, name), limits) for name in STATED_FIELDS
    }
    stated["links"] = check_links(memory.links, memory.id)
    tidy = replace(memory, **stated)
    _check_validity(tidy)
    _check_content(tidy.content, limits)
    check_categories((tidy.category,))
    _check_importance(tidy.importance)
    if tidy.category == EPISODE and tidy.session is None:
        raise InvalidInput(
            "an episode needs the session it belongs to",
            field="session",
            remedy="Name the session, or choose another category.",
        )
    return tidy


def _check_value(field: Field, value: Any, limits: Limits) -> Any:  # noqa: ANN401  # of its kind
    if field.name == "content":
        return repair_text(value).strip()
    if field.kind == "texts":
        return _words(value, field.name, limits)
    if field.kind == "text" and field.is_optional:
        return _label(value, field.name, limits)
    return check_moment(value, field.name) if field.kind == "moment" else value


def correct_dates(memory: Memory, now: datetime) -> Memory:
    """Replace dates that only a wrong clock gives: a date more than a day ahead becomes the
    present.
    """

    def correct(moment: datetime) -> datetime:
        return now if moment > now + MAX_CLOCK_SKEW else moment

    return replace(
        memory,
        created_at=correct(memory.created_at),
        updated_at=correct(memory.updated_at),
        deleted_at=None if memory.deleted_at is None else correct(memory.deleted_at),
    )


def clean_scope(scope: Scope) -> Scope:
    """Trim the scope's names like a memory's, so that a name finds what was stored under it. A
    blank name is rejected, since omitting it would widen the scope.
    """
    check_categories(several(scope.categories, "categories"))
    sessions, tags = several(scope.sessions, "sessions"), several(scope.tags, "tags")
    return replace(
        scope,
        project=None if scope.project is None else check_name(scope.project, "project"),
        sessions=tuple(check_name(session, "sessions") for session in sessions),
        tags=tuple(check_name(tag, "tags") for tag in tags),
        since=check_moment(scope.since, "since"),
        until=check_moment(scope.until, "until"),
    )


def several(texts: Iterable[str], field: str) -> tuple[str, ...]:
    """Return the texts; or raise InvalidInput for a single text, which would be split into letters,
    and for anything that is not a list.
    """
    if isinstance(texts, str):
        raise InvalidInput(
            f"{field} is one text, not a list of them",
            field=field,
            remedy=f"Put it in a list: [{texts[:60]!r}].",
        )
    if not isinstance(texts, Iterable):
        raise InvalidInput(
            f"{field} is not a list of texts",
            field=field,
            remedy='Pass a list of texts, such as ["staging"].',
        )
    return tuple(texts)


def check_categories(categories: Iterable[str]) -> None:
    for category in categories:
        if category not in CATEGORIES:
            raise InvalidInput(
                f"unknown category {category[:60]!r}",
                field="category",
                remedy=f"Choose one of: {', '.join(CATEGORIES)}.",
            )


def _check_content(content: str, limits: Limits) -> None:
    if not content:
        raise InvalidInput(
            "the content is empty",
            field="content",
            remedy="Write what to remember, as one self-contained statement.",
        )
    if len(content) > limits.content:
        raise InvalidInput(
            f"the content has {len(content):,} characters; the limit is {limits.content:,}",
            field="content",
            remedy="Split it into several memories, as `recollect import --format document` does"
            f"{', or raise RECOLLECT_MAX_CONTENT' * (limits.content < MAX_CONTENT_LIMIT)}.",
        )
    _check_storable(content, "content")


def _check_importance(importance: float) -> None:
    if not 0.0 <= importance <= 1.0:  # also rejects NaN, which compares false with everything
        raise InvalidInput(
            f"importance {importance} is outside 0..1",
            field="importance",
            remedy="Pass a number from 0 (trivial) to 1 (vital).",
        )


def _check_validity(memory: Memory) -> None:
    begin, end = memory.valid_from, memory.valid_until
    if begin is not None and end is not None and end <= begin:
        raise InvalidInput(
            f"valid_until ({end.isoformat()}) is not after valid_from ({begin.isoformat()})",
            field="valid_until",
            remedy="Pass a later valid_until, or clear one of the two.",
        )


def _words(words: Iterable[str], field: str, limits: Limits) -> tuple[str, ...]:
    each = several(words, field)
    tidy = tuple(
        dict.fromkeys(stripped for word in each if (stripped := repair_text(word).strip()))
    )
    if len(tidy) > limits.words:
        raise InvalidInput(
            f"{len(tidy)} {field} given; the limit is {limits.words}",
            field=field,
            remedy="Keep those that someone would search for.",
        )
    for word in tidy:
        _check_length(word, field, limits.word)
        _check_storable(word, field)
    return tidy


def _label(text: str | None, field: str, limits: Limits) -> str | None:
    if text is None or not (tidy := repair_text(text).strip()):
        return None
    _check_length(tidy, field, limits.label)
    _check_storable(tidy, field)
    return tidy


def check_name(text: str, field: str) -> str:
    """Return the name trimmed; or raise InvalidInput with the field as the caller named it."""
    tidy = repair_text(text).strip()
    if not tidy:
        raise InvalidInput(
            f"{field} contains a blank name",
            field=field,
            remedy=f"Name what to search, or omit {field} to search everywhere.",
        )
    _check_storable(tidy, field)
    return tidy


def check_moment(moment: datetime | None, field: str) -> datetime | None:
    """Return the moment in UTC; or raise InvalidInput if it cannot be compared with others."""
    if moment is None:
        return None
    try:
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except OverflowError:  # the first or the last day of the calendar, in another time zone
        pass
    raise InvalidInput(
        f"{field} is not a usable time: {moment.isoformat()}",
        field=field,
        remedy="Pass a date and time with a time zone, such as 2026-11-15T09:00:00Z.",
    )


def _check_length(text: str, field: str, limit: int) -> None:
    if len(text) > limit:
        raise InvalidInput(
            f"an entry of {field} has {len(text):,} characters; the limit is {limit}",
            field=field,
            remedy="Shorten it.",
        )


def _check_storable(text: str, field: str) -> None:
    if (found := find_unstorable(text)) is not None:
        raise InvalidInput(
            f"{field} contains {found}, which cannot be stored as text",
            field=field,
            remedy="Remove that character, or convert the text to valid UTF-8.",
        )


def check_owner(name: str, *, field: str = "owner") -> None:
    """InvalidInput for an invalid owner name; `field` is where the name was given. A blank name
    comes from an unset variable; it must not open, or fill, the memories of the default owner.
    """
    if not name.strip() or len(name) > MAX_NAME or find_unstorable(name) is not None:
        raise InvalidInput(
            f"{field} cannot be {name!r:.60}",
            field=field,
            remedy=f"Use a name of up to {MAX_NAME} characters of valid text.",
        )
