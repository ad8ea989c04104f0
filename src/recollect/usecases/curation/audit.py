"""Find an owner's memories that need attention. Nothing is changed or sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from recollect.core.admin.stats import Stats
from recollect.core.curation import audit as rules
from recollect.core.curation.audit import KINDS, Finding, Kind, Pair
from recollect.core.memory.listing import EXPIRES_SOON, MAX_PAGE, Cursor
from recollect.core.memory.memory import EVERYWHERE, Memory, Scope
from recollect.core.recall.successors import current
from recollect.ports.recall import RecallRecord

# At this cosine and above, texts mean nearly the same to the models this was measured with.
NEAR_COSINE = 0.95
SAME_SUBJECT_COSINE = 0.8


class Neighbours(Protocol):
    """Pairs of memories with similar vectors, if a store has vectors."""

    async def pairs(self, owner: str, at_least: float) -> Sequence[tuple[UUID, UUID, float]]:
        """Return pairs within one project whose cosine is `at_least` this."""


class Listing(Protocol):
    """A source of an owner's memories; every store is one."""

    async def page(
        self, owner: str, scope: Scope, after: Cursor | None, limit: int, /
    ) -> list[Memory]:
        """Return a scope's memories, newest first, after the cursor."""

    async def stats(self, owner: str, /) -> Stats:
        """Return counts of what the owner has stored."""


async def audit(
    store: Listing,
    owner: str,
    now: datetime,
    *,
    kinds: Collection[Kind] = KINDS,
    within: timedelta = EXPIRES_SOON,
    recalls: RecallRecord | None = None,
    neighbours: Neighbours | None = None,
    progress: Callable[[str, int, int | None], None] = lambda _what, _done, _left: None,
) -> list[Finding]:
    """Report findings of these kinds. A memory that expires `within` this time is reported."""
    everything = await _read_all(store, owner, progress)
    found: list[Finding] = []
    if "secret" in kinds:
        found += filter(None, map(rules.find_unguarded_secret, everything))
    memories = current(everything)  # superseded memories need no attention
    if {"duplicate", "contradiction"} & {*kinds}:
        progress("comparing", 0, 0)
        found += rules.find_exact_duplicates(memories)
        found += await _compare_pairs(memories, owner, neighbours)
    if "stale" in kinds:
        found += filter(None, (rules.stale(memory, now) for memory in memories))
    if {"expiring", "expired"} & {*kinds}:
        found += filter(None, (rules.lifetime(memory, now, within) for memory in memories))
    if "never-recalled" in kinds and recalls is not None:
        shown, since = await recalls.recalled(owner)
        judged = (
            rules.find_never_recalled(memory, since, now, is_recalled=memory.id in shown)
            for memory in memories
        )
        found += filter(None, judged)
    return [item for item in found if item.kind in kinds]


async def _compare_pairs(
    memories: Sequence[Memory], owner: str, neighbours: Neighbours | None
) -> list[Finding]:
    """Compare by words, including sensitive memories; also by vectors if there are any."""
    found: dict[frozenset[UUID], Finding] = {}
    for pair in rules.find_word_pairs(memories):
        if (finding := rules.compare_pair(pair)) is not None:
            found[frozenset(finding.ids)] = finding
    if neighbours is not None:
        known = {memory.id: memory for memory in memories}
        for first, second, cosine in await neighbours.pairs(owner, SAME_SUBJECT_COSINE):
            if first in known and second in known:
                finding = rules.compare_pair(
                    Pair(known[first], known[second], cosine), near=NEAR_COSINE
                )
                if finding is not None:
                    found.setdefault(frozenset(finding.ids), finding)
    return list(found.values())


async def _read_all(
    store: Listing, owner: str, progress: Callable[[str, int, int | None], None]
) -> list[Memory]:
    stats = await store.stats(owner)
    progress("reading", 0, stats.memories)
    memories: list[Memory] = []
    after: Cursor | None = None
    while page := await store.page(owner, EVERYWHERE, after, MAX_PAGE):
        memories += page
        after = Cursor.after(page[-1])
        progress("reading", len(page), None)
    return memories
