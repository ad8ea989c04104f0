"""What may be wrong with memories, by rules alone: pure functions over texts and dates.

A rule only gives a hint; the reader of a finding decides. So rules would rather miss something than
raise false alarms, and each finding quotes the words that led to it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Final, Literal, get_args
from uuid import UUID

from recollect.core.curation.pairs import compare
from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import EPISODE, Memory
from recollect.core.text.segments import words
from recollect.core.text.stop_words import english_stop_words

Kind = Literal[
    "duplicate", "contradiction", "stale", "expiring", "expired", "never-recalled", "secret"
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
# Word sets that share this much say nearly the same: nine words of ten, or three of four with one
# extra word on each side.
_NEAR: Final = 0.75
_ABOUT_THE_SAME: Final = 0.6
# A word in more memories than this pairs too many of them to mean anything.
_COMMON: Final = 50
_STALE: Final = timedelta(days=180)
_SOON: Final = timedelta(days=90)
_NOT_TEXT: Final = """
not no never none cannot without isn aren wasn weren don doesn didn won wouldn shouldn
"""
_NOT: Final = frozenset(_NOT_TEXT.split())
_BOUND: Final = re.compile(
    r"\b(until|till|by|due|deadline|expires?|planned|scheduled|upcoming|will|before)\b",
    re.IGNORECASE,
)
_PASSING: Final = re.compile(
    r"\b(today|tonight|tomorrow|yesterday|this (?:week|month|morning|evening|sprint)"
    r"|next (?:week|month|sprint)|right now|at the moment)\b",
    re.IGNORECASE,
)
_DAY: Final = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)\b")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to check: which memories, why, and the command that fixes it."""

    kind: Kind
    ids: tuple[UUID, ...]
    reason: str
    command: str


def parse_kinds(named: Collection[str]) -> list[Kind]:
    """Return the kinds of these names, in canonical order; or raise InvalidInput."""
    for name in named:
        if name not in KINDS:
            raise InvalidInput(
                f"unknown kind {name[:60]!r}",
                field="kind",
                remedy=f"Choose one of: {', '.join(KINDS)}.",
            )
    return [kind for kind in KINDS if kind in named]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories about the same thing, by their words or by their vectors."""

    one: Memory
    other: Memory
    likeness: float

    @property
    def older(self) -> Memory:
        return min((self.one, self.other), key=lambda memory: (memory.updated_at, memory.id))

    @property
    def newer(self) -> Memory:
        return self.other if self.older is self.one else self.one


def find_exact_duplicates(memories: Iterable[Memory]) -> Iterator[Finding]:
    """Find memories with the same words in the same order and project; the most important one
    stays, then the oldest.
    """
    groups: dict[tuple[object, ...], list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.category != EPISODE:
            key = words(memory.content) or (memory.content,)
            groups[memory.project, key].append(memory)
    for same in groups.values():
        if len(same) > 1:
            first, *rest = sorted(
                same, key=lambda memory: (-memory.importance, memory.created_at, memory.id)
            )
            ids = tuple(memory.id for memory in (first, *rest))
            yield Finding("duplicate", ids, "the same words", _forget(*rest))


def find_word_pairs(memories: Sequence[Memory]) -> Iterator[Pair]:
    """Find memories of one project that share most of their distinctive words."""
    statements = [memory for memory in memories if memory.category != EPISODE]
    sets = {item.id: _select_distinctive(item.content) for item in statements}
    by_word: dict[tuple[object, str], list[Memory]] = defaultdict(list)
    for memory in statements:
        for word in sets[memory.id]:
            by_word[memory.project, word].append(memory)
    met: Counter[tuple[UUID, UUID]] = Counter()
    known = {item.id: item for item in statements}
    for sharing in by_word.values():
        if len(sharing) <= _COMMON:
            for one, other in combinations(sharing, 2):
                met[one.id, other.id] += 1
    for (one_id, other_id), shared in met.items():
        together = sets[one_id] | sets[other_id]
        if shared / len(together) >= _ABOUT_THE_SAME / 2:
            likeness = len(sets[one_id] & sets[other_id]) / len(together)
            if likeness >= _ABOUT_THE_SAME / 2:
                yield Pair(known[one_id], known[other_id], likeness)


def compare_pair(pair: Pair, *, near: float = _NEAR) -> Finding | None:
    """Report a contradiction or a near duplicate; None if there is nothing worth reporting."""
    older, newer = pair.older, pair.newer
    if words(older.content) == words(newer.content):
        return None  # the same words: already reported as a duplicate
    ids = (newer.id, older.id)
    if (why := _change(pair)) is not None:
        command = f"recollect link {newer.id} supersedes {older.id}"
        return Finding("contradiction", ids, why, command)
    if pair.likeness >= near:
        return Finding("duplicate", ids, f"nearly the same ({pair.likeness:.2f})", _forget(older))
    return None


def _change(pair: Pair) -> str | None:
    """Return why the newer one replaces the older one, by the rules of curation."""
    newer, older = pair.newer, pair.older
    is_later = newer.created_at > older.created_at
    decision = compare(newer.content, older.content, is_later=is_later)
    replaces = decision is not None and decision.kind in ("supersedes", "contradicts")
    return decision.reason if decision is not None and replaces else None


def _select_distinctive(text: str) -> frozenset[str]:
    return frozenset(words(text)) - (english_stop_words() - _NOT)


def stale(memory: Memory, now: datetime) -> Finding | None:
    """Report a date long past on which something depended, or an outdated word such as
    `tomorrow`.
    """
    if memory.category == EPISODE:
        return None
    days = [day for found in _DAY.finditer(memory.content) if (day := _day(found)) is not None]
    if days and _BOUND.search(memory.content) and max(days) < now - _STALE:
        why = f"{max(days):%Y-%m-%d} is long past"
    elif (found := _PASSING.search(memory.content)) and memory.updated_at < now - _SOON:
        why = f"{found[0].lower()!r} was written on {memory.updated_at:%Y-%m-%d}"
    else:
        return None
    return Finding("stale", (memory.id,), why, _forget(memory))


def lifetime(memory: Memory, now: datetime, soon: timedelta) -> Finding | None:
    """Report a memory that has expired, or will soon."""
    end = memory.valid_until
    if end is None or end - now > soon:
        return None
    when = f"{end.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    command = f'recollect update {memory.id} --valid-until ""'
    if end <= now:
        return Finding("expired", (memory.id,), f"recalled only until {when}", command)
    return Finding("expiring", (memory.id,), f"recalled until {when}", command)


def _day(found: re.Match[str]) -> datetime | None:
    try:
        return datetime(int(found[1]), int(found[2]), int(found[3]), tzinfo=UTC)
    except ValueError:
        return None


def find_unguarded_secret(memory: Memory) -> Finding | None:
    """Report a memory that looks like a credential and is not sensitive."""
    if memory.is_sensitive:
        return None
    # Imported late: it compiles many patterns.
    from recollect.core.privacy.sensitive import secret_in

    secret = secret_in(memory)
    if secret is None:
        return None
    why = f"it looks like a secret ({secret.kind}, confidence {secret.confidence:g})"
    return Finding("secret", (memory.id,), why, f"recollect update {memory.id} --sensitive")


def find_never_recalled(
    memory: Memory, since: datetime, now: datetime, *, is_recalled: bool
) -> Finding | None:
    """Report a memory that was not recalled in half a year during which recalls were counted."""
    known = max(since, memory.created_at)
    if is_recalled or memory.category == EPISODE or known > now - _STALE:
        return None
    why = f"no recall has shown it since {known:%Y-%m-%d}"
    return Finding("never-recalled", (memory.id,), why, _forget(memory))


def _forget(*memories: Memory) -> str:
    return f"recollect forget {' '.join(str(memory.id) for memory in memories)}"
