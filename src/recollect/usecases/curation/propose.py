"""What a memory is to those nearest to it: recall finds them, rules decide (`core/curation`), and a
language model where they leave a doubt and one is configured.

Nothing is changed here. A sensitive memory is never examined, nor shown to another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from recollect.core.curation.pairs import (
    MAX_TEXT,
    Decision,
    compare,
    has_heading,
    measure_doubt,
    split_statements,
)
from recollect.core.curation.proposals import RULES
from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.request import Hit, RecallRequest
from recollect.usecases.context import Context
from recollect.usecases.recall.recall import recall

NEAREST: Final = 10
MAX_ASKED: Final = 3
"""Pairs of one memory that a language model is asked about: those most in doubt."""
# A turn of a conversation says several things; those with a value or a name are looked up alone.
_MAX_LOOKUPS: Final = 3


@dataclass(frozen=True, slots=True)
class ProposedPair:
    """What the newer of two memories is to the older one."""

    newer: Memory
    older: Memory
    decision: Decision
    decided_by: str = RULES


@dataclass(frozen=True, slots=True)
class _Doubtful:
    newer: Memory
    older: Memory
    doubt: float


class Ask(Protocol):
    """Has a language model, called `name`, decide what the newer memory is to the older one."""

    @property
    def name(self) -> str: ...

    async def __call__(self, newer: Memory, older: Memory) -> Decision | None: ...


async def propose(
    context: Context, owner: str, memory: Memory, ask: Ask | None = None
) -> list[ProposedPair]:
    """What the memory is to each of the nearest older ones of its project, surest first. One that
    was changed is compared with newer ones, too. `ask` decides about the pairs most in doubt.
    """
    if memory.is_sensitive or memory.deleted_at is not None or len(memory.content) > MAX_TEXT:
        return []
    found: dict[UUID, ProposedPair] = {}
    doubtful: dict[UUID, _Doubtful] = {}
    for query in _queries(memory.content):
        for hit in await _find_nearest(context, owner, memory, query):
            near = hit.memory
            if near.id in found or not _may_be_compared(memory, near):
                continue
            newer, older = (memory, near) if _is_older(near, memory) else (near, memory)
            is_later, closeness = newer.created_at > older.created_at, _closeness(hit)
            texts = newer.content, older.content
            decision = compare(*texts, is_later=is_later, closeness=closeness)
            if decision is not None:
                found[near.id] = ProposedPair(newer, older, decision)
            elif ask is not None and is_later and (doubt := measure_doubt(*texts, closeness)):
                doubtful.setdefault(near.id, _Doubtful(newer, older, doubt))
    if ask is not None:
        left = [(other, pair) for other, pair in doubtful.items() if other not in found]
        left.sort(key=lambda each: -each[1].doubt)
        for other, pair in left[:MAX_ASKED]:
            decision = await ask(pair.newer, pair.older)
            if decision is not None:
                found[other] = ProposedPair(pair.newer, pair.older, decision, ask.name)
    return sorted(found.values(), key=lambda proposal: -proposal.decision.confidence)


def _queries(text: str) -> Iterator[str]:
    """The whole text, and its statements that may have changed something."""
    yield text
    if has_heading(text):
        return
    statements = split_statements(text)
    if len(statements) > 1:
        telling = [statement.text for statement in statements if statement.details]
        yield from telling[-_MAX_LOOKUPS:]


async def _find_nearest(context: Context, owner: str, memory: Memory, query: str) -> list[Hit]:
    request = RecallRequest(
        query,
        limit=NEAREST,
        scope=Scope(project=memory.project, with_global=memory.project is None),
        exclude=frozenset({memory.id}),
    )
    return [*(await recall(context, owner, request, updates_first=False)).hits]


def _may_be_compared(memory: Memory, other: Memory) -> bool:
    """A new memory only with what was stored before it. Sensitive ones and linked ones never."""
    is_linked = any(link.target in (memory.id, other.id) for link in (*memory.links, *other.links))
    is_due = memory.version > 1 or _is_older(other, memory)
    return is_due and not is_linked and not other.is_sensitive


def _is_older(memory: Memory, than: Memory) -> bool:
    return (memory.created_at, memory.id) < (than.created_at, than.id)


def _closeness(hit: Hit) -> float | None:
    dense = hit.legs.get("dense")
    return None if dense is None or dense.rank is None else dense.evidence
