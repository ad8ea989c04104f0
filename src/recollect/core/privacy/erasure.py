"""What an erasure searches for afterwards: marks of what was erased, and what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from recollect.core.memory.memory import Memory
from recollect.core.text.segments import words
from recollect.core.text.stop_words import english_stop_words

# More would not find anything else: what removes one memory removes all.
MAX_TEXTS: Final = 100
MAX_WORDS: Final = 200
_MIN_WORD_CHARS: Final = 6
_HEAD_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class Marks:
    """How erased memories would be recognised: ids, beginnings of texts, distinctive words. With an
    owner, the memories of others are neither searched nor reported.
    """

    ids: frozenset[UUID] = frozenset()
    texts: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Remain:
    """A place that still contains something that should be gone."""

    where: str
    what: str
    count: int


@dataclass(frozen=True, slots=True)
class Erased:
    """How much was erased; `notified` counts the erasures that are forwarded to synced clients or
    the server by id, `keys` the owner's keys that are still valid.
    """

    memories: int
    notified: int = 0
    keys: int = 0


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """What was erased for one owner, which places were searched, and what `remains` there.
    `unsearched` says what could not be searched, and what to do about it.
    """

    owner: str
    erased: Erased
    searched: tuple[str, ...] = ()
    remains: tuple[Remain, ...] = ()
    unsearched: str = ""


def marks_of(memories: Iterable[Memory], before: Marks | None = None) -> Marks:
    """Return the marks of these memories, added to those already known, up to the limits."""
    known = before or Marks()
    ids, texts, telling = set(known.ids), set(known.texts), set(known.words)
    for memory in memories:
        ids.add(memory.id)
        # A short text may well be part of what another owner wrote.
        if len(texts) < MAX_TEXTS and len(memory.content) >= 2 * _MIN_WORD_CHARS:
            texts.add(_head(memory.content))
        if len(telling) < MAX_WORDS:
            found = words(" ".join((memory.content, *memory.tags, *memory.expanded_keywords)))
            telling |= {item for item in found if _is_distinctive(item)}
    most = frozenset(sorted(telling)[:MAX_WORDS])
    return Marks(frozenset(ids), frozenset(texts), most, known.owner)


def _is_distinctive(word: str) -> bool:
    """Whether a word is distinctive. A number is not: it appears in many places with different
    meanings.
    """
    return (
        len(word) >= _MIN_WORD_CHARS and word not in english_stop_words() and not word.isnumeric()
    )


def _head(content: str) -> str:
    """Return the beginning on one line, without characters that are escaped inside JSON or an
    array.
    """
    line = content.strip().split("\n", 1)[0]
    for special in '"\\{}':
        line = max(line.split(special), key=len)
    return line.strip()[:_HEAD_CHARS]
