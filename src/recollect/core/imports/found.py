"""What a reader finds in a foreign file, and the memory it becomes.

Foreign notes have no ids. The id is derived from the text and from a mark of the store, so that
reading the same file again gives the same memories, while two people who import one file into the
same server get separate ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import EPISODE, Changes, Draft, Limits, Memory
from recollect.core.privacy.sensitive import secret_in

# An id begins with a moment, and that part is shown to people. Many memories of a file may have the
# same date, or none: then a moment within that day or minute, or within these years, is derived
# from the text, so that the short ids differ.
_UNDATED: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNDATED_YEARS: Final = timedelta(days=20 * 365)
_MILLISECOND: Final = timedelta(milliseconds=1)
# Space in a memory for the speaker and the number of the part.
_SPEAKER: Final = 40
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Found(Draft):
    """One statement in a foreign file; `place` says where, for people. `key` distinguishes
    statements with the same text, such as two turns of a conversation.
    """

    place: str = field(kw_only=True)
    created_at: datetime | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Exact:
    """A memory from our own export: stored as it is, with its id, dates and version."""

    place: str
    memory: Memory


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """A part of a file that could not be read, and what to do; the rest was read. A warning is
    about something that was ignored, and loses no memory.
    """

    place: str
    reason: str
    remedy: str
    is_warning: bool = False


Item = Found | Exact | ImportProblem


def to_memory(found: Found, owner: str, mark: str, now: datetime, limits: Limits) -> Memory:
    """Create the memory to store, which is not checked yet. Labels that are too long are cut: they
    are only for grouping.
    """
    is_sensitive = found.is_sensitive
    if is_sensitive is None:
        is_sensitive = secret_in(found) is not None
    named = "\x1f".join((mark, found.session or "", found.key, found.content.strip()))
    digest = hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()
    begin, span = _span(found.created_at)
    spread = int.from_bytes(digest[10:18], "big") % (span // _MILLISECOND)
    at = found.created_at or now
    stated: dict[str, Any] = {name: getattr(found, name) for name in Changes.__annotations__}
    stated |= {
        "tags": _cut(found.tags, limits),
        "expanded_keywords": _cut(found.expanded_keywords, limits),
        "is_sensitive": is_sensitive,
        "project": found.project and found.project[: limits.label],
        "session": found.session and found.session[: limits.label],
    }
    return Memory(
        **stated,
        id=uuid7(begin + spread * _MILLISECOND, digest[:10]),
        owner=owner,
        created_at=at,
        updated_at=at,
    )


def _span(moment: datetime | None) -> tuple[datetime, timedelta]:
    """Return the range for the moment of an id: its start and length."""
    if moment is None:
        return _UNDATED, _UNDATED_YEARS
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if moment == day:
        return day, timedelta(days=1)
    return moment.replace(second=0, microsecond=0), timedelta(minutes=1)


def _cut(words: tuple[str, ...], limits: Limits) -> tuple[str, ...]:
    return tuple(word[: limits.word] for word in words)[: limits.words]


def turn(
    place: str,
    speaker: str,
    text: str,
    max_chars: int,
    *,
    tag: str,
    session: str,
    keywords: tuple[str, ...] = (),
    project: str | None = None,
    created_at: datetime | None = None,
    key: str = "",
) -> Iterator[Found]:
    """Yield one turn of a conversation: an episode, or several if it is longer than a memory."""
    parts = list(pieces(text, max_chars - _SPEAKER))
    for part, piece in enumerate(parts, 1):
        which = f" ({part} of {len(parts)})" if len(parts) > 1 else ""
        yield Found(
            f"{speaker}{which}: {piece}",
            place=place,
            category=EPISODE,
            tags=(tag,),
            expanded_keywords=keywords,
            project=project,
            session=session,
            created_at=created_at,
            key=f"{key}/{part}",
        )


def pieces(text: str, max_chars: int) -> Iterator[str]:
    """Cut a text into parts of at most this many characters, between lines or sentences if
    possible.
    """
    rest = text.strip()
    while len(rest) > max_chars:
        cut = max(
            (match.start() for match in _SENTENCE_END.finditer(rest, 0, max_chars)), default=0
        )
        cut = cut or max(rest.rfind(" ", 0, max_chars), 0) or max_chars
        yield rest[:cut].strip()
        rest = rest[cut:].strip()
    if rest:
        yield rest


def moment_of(value: object) -> datetime | None:
    """Parse a date as other programs write it: ISO 8601, or seconds since 1970; None for anything
    else, and for dates before 1970, with which no id can start.
    """
    try:
        if isinstance(value, str) and value.strip():
            moment = datetime.fromisoformat(value.strip())
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            return None
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment > _UNDATED else None
