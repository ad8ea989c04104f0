"""What an erasure looks for when it is done: marks of what was there, and what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from recollect.core.memory.memory import Memory
from recollect.core.text.analysis import STOP_WORDS, words

# More would find nothing else: what removes one memory removes all.
MOST_TEXTS: Final = 100
MOST_WORDS: Final = 200
_TELLING: Final = 6
_HEAD: Final = 80


@dataclass(frozen=True, slots=True)
class Marks:
    """By what erased memories would be known again: ids, beginnings of texts, telling words. With
    an owner, what others have stored is neither searched nor a finding.
    """

    ids: frozenset[UUID] = frozenset()
    texts: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Remain:
    """A place where something was found that should be gone."""

    where: str
    what: str
    count: int


@dataclass(frozen=True, slots=True)
class Erased:
    """How much was erased. `told`: erasures that synced clients, or the server, hear of by id;
    `keys` of the owner that still open the server.
    """

    memories: int
    told: int = 0
    keys: int = 0


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """What was done for one owner, what was searched, and what was found there: nothing.
    `unsearched` says what could not be searched, and what is to be done about it.
    """

    owner: str
    erased: Erased
    searched: tuple[str, ...] = ()
    remains: tuple[Remain, ...] = ()
    unsearched: str = ""


def marks_of(memories: Iterable[Memory], before: Marks | None = None) -> Marks:
    """The marks of these memories, added to those known before, as far as they are needed."""
    known = before or Marks()
    ids, texts, telling = set(known.ids), set(known.texts), set(known.words)
    for memory in memories:
        ids.add(memory.id)
        # A short text may well be part of what another owner wrote.
        if len(texts) < MOST_TEXTS and len(memory.content) >= 2 * _TELLING:
            texts.add(_head(memory.content))
        if len(telling) < MOST_WORDS:
            found = words(" ".join((memory.content, *memory.tags, *memory.expanded_keywords)))
            telling |= {one for one in found if _is_telling(one)}
    most = frozenset(sorted(telling)[:MOST_WORDS])
    return Marks(frozenset(ids), frozenset(texts), most, known.owner)


def _is_telling(word: str) -> bool:
    """A number stands in many places without meaning the same."""
    return len(word) >= _TELLING and word not in STOP_WORDS and not word.isnumeric()


def _head(content: str) -> str:
    """On one line and without what is written differently inside JSON or an array."""
    line = content.strip().split("\n", 1)[0]
    for special in '"\\{}':
        line = max(line.split(special), key=len)
    return line.strip()[:_HEAD]
