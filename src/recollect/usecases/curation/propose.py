"""Decide how a memory relates to those nearest to it. Recall finds them, rules decide
(`core/curation`), and where the rules are in doubt, a language model, if one is configured.

Deciding changes no memory. A sensitive memory is never examined, nor compared with another one.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from recollect.core.admin.modes import CurationMode
from recollect.core.curation.answers import (
    SCHEMA,
    TASK,
    UnusableAnswer,
    describe_pair,
    read_answer,
)
from recollect.core.curation.pairs import (
    MAX_TEXT,
    Decision,
    compare,
    has_heading,
    measure_doubt,
    split_statements,
)
from recollect.core.curation.proposals import APPLICABLE, CURATOR, MERGED, RULES, Proposal
from recollect.core.errors import Conflict, InvalidInput, ModelUnavailable
from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import EPISODE, Memory, Scope
from recollect.core.privacy.secrets.detect import looks_sensitive
from recollect.core.recall.request import Hit, RecallRequest
from recollect.ports.curation import AskedModel, CurationStore
from recollect.usecases.context import Context
from recollect.usecases.curation.review import accept
from recollect.usecases.recall.recall import recall
from recollect.usecases.tasks import analyze_text

# Ask a language model about a pair of memories that the rules cannot decide. Each pair is sent
# once, and never if one memory is sensitive. An answer that does not fit the schema is dropped.
# Without a model, or once the day's calls are used up, the rules decide alone.


class Attempt(Protocol):
    """Does the work and returns its result; None if its model is backing off or fails."""

    async def __call__(
        self, work: Callable[[], Awaitable[Decision | None]], /
    ) -> Decision | None: ...


@dataclass(slots=True)
class CountedModel:
    """Asks a model about pairs, and counts the calls and the dropped answers."""

    model: AskedModel
    asked: int = 0
    dropped: int = 0

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, newer: Memory, older: Memory) -> Decision | None:
        self.asked += 1
        try:
            return await ask_model(self.model, newer.content, older.content)
        except UnusableAnswer:
            self.dropped += 1
            return None


@dataclass(frozen=True, slots=True)
class LimitedModel:
    """Asks a model about the pairs of one owner, up to `calls` times a day."""

    context: Context
    store: CurationStore
    owner: str
    model: CountedModel
    calls: int
    attempt: Attempt

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, newer: Memory, older: Memory) -> Decision | None:
        return await self.attempt(lambda: self._ask(newer, older))

    async def _ask(self, newer: Memory, older: Memory) -> Decision | None:
        if not await self._are_current(newer, older):
            return None
        if not await self.store.spend(self.calls):
            raise ModelUnavailable(
                f"today's {self.calls} calls to the language model are used up",
                remedy="Wait until tomorrow, or raise RECOLLECT_CURATION_CALLS.",
            )
        return await self.model(newer, older)

    async def _are_current(self, *memories: Memory) -> bool:
        """Whether the memories are unchanged. A batch takes minutes: a memory that became sensitive
        meanwhile must not be sent.
        """
        ids = [memory.id for memory in memories]
        current = await self.context.store.get_many(self.owner, ids)
        return all(current.get(memory.id) == memory for memory in memories)


async def ask_model(model: AskedModel, newer: str, older: str) -> Decision | None:
    """Ask how the newer text relates to the older one. Return None if they are unrelated, or if one
    contains a credential and would leave this machine; raise UnusableAnswer if the answer cannot be
    used.
    """
    if not model.is_here:
        for text in (newer, older):
            if await analyze_text(len(text), looks_sensitive, text) is not None:
                return None
    answer = await model.ask(TASK, describe_pair(newer, older), schema=SCHEMA)
    return read_answer(answer, newer, older)


NEAREST: Final = 10
MAX_ASKED: Final = 3
"""How many pairs of one memory are sent to a language model: those most in doubt."""
# A turn of a conversation states several things; those with a value or a name get a query each.
_MAX_LOOKUPS: Final = 3


@dataclass(frozen=True, slots=True)
class ProposedPair:
    """How the newer of two memories relates to the older one."""

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
    """Has a language model, called `name`, decide how the newer memory relates to the older one."""

    @property
    def name(self) -> str: ...

    async def __call__(self, newer: Memory, older: Memory) -> Decision | None: ...


async def propose(
    context: Context, owner: str, memory: Memory, ask: Ask | None = None
) -> list[ProposedPair]:
    """Relate the memory to the nearest older ones of its project; the surest pair comes first. A
    memory that was changed is compared with newer ones, too. `ask` decides the pairs most in doubt.
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
            decision = _decide(newer, older, closeness)
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


def _decide(newer: Memory, older: Memory, closeness: float | None) -> Decision | None:
    is_later = newer.created_at > older.created_at
    decision = compare(newer.content, older.content, is_later=is_later, closeness=closeness)
    # What is said again in a conversation is nothing to tidy up.
    if decision is not None and decision.kind in MERGED and newer.category == EPISODE:
        return None
    return decision


def _queries(text: str) -> Iterator[str]:
    """Yield the whole text, then the statements in it that may have changed something."""
    yield text
    if has_heading(text):
        return
    statements = split_statements(text)
    if len(statements) > 1:
        detailed = [statement.text for statement in statements if statement.details]
        yield from detailed[-_MAX_LOOKUPS:]


async def _find_nearest(context: Context, owner: str, memory: Memory, query: str) -> list[Hit]:
    request = RecallRequest(
        query,
        limit=NEAREST,
        scope=Scope(project=memory.project, with_global=memory.project is None),
        exclude=frozenset({memory.id}),
    )
    return [*(await recall(context, owner, request, updates_first=False)).hits]


def _may_be_compared(memory: Memory, other: Memory) -> bool:
    """A new memory is compared only with older ones; sensitive and linked ones are not compared."""
    is_linked = any(link.target in (memory.id, other.id) for link in (*memory.links, *other.links))
    is_due = memory.version > 1 or _is_older(other, memory)
    return is_due and not is_linked and not other.is_sensitive


def _is_older(memory: Memory, than: Memory) -> bool:
    return (memory.created_at, memory.id) < (than.created_at, than.id)


def _closeness(hit: Hit) -> float | None:
    dense = hit.legs.get("dense")
    return None if dense is None or dense.rank is None else dense.evidence


# Examine changed memories: store the proposals, and apply them where the mode says so.

BATCH: Final = 20


@dataclass(frozen=True, slots=True)
class CurationContext:
    """What the curator needs. `mode` is not `off`. `threshold` is the confidence from which `apply`
    applies a proposal. `model` is asked about doubtful pairs, up to `calls` times a day.
    """

    context: Context
    store: CurationStore
    mode: CurationMode
    threshold: float
    model: AskedModel | None = None
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Examined:
    """The outcome of one batch, in counts. `asked` is the calls to a language model, `dropped`
    those whose answer could not be used.
    """

    memories: int
    proposed: int
    applied: int
    asked: int = 0
    dropped: int = 0


async def examine_batch(curation: CurationContext, attempt: Attempt) -> Examined | None:
    """Examine some changed memories; return None if there are none. A model is called through
    `attempt`.
    """
    changed = await curation.store.find_changed(BATCH)
    if changed is None:
        return None
    context, owner = curation.context, changed.owner
    counted = None if curation.model is None else CountedModel(curation.model)
    model = counted and LimitedModel(
        context, curation.store, owner, counted, curation.calls, attempt
    )
    proposed = applied = 0
    for memory in changed.memories:
        await context.callers.yield_to_callers()
        pairs = await propose(context, owner, memory, model)
        proposals = [_to_proposal(context, pair) for pair in pairs]
        stored = await curation.store.keep_proposals(owner, proposals)
        proposed += len(stored)
        if curation.mode == "apply":
            applied += await _apply(curation, owner, stored)
    await curation.store.mark_examined(changed)
    asked, dropped = (0, 0) if counted is None else (counted.asked, counted.dropped)
    return Examined(len(changed.memories), proposed, applied, asked, dropped)


async def _apply(curation: CurationContext, owner: str, proposals: list[Proposal]) -> int:
    """Accept the proposals that are sure enough; one that cannot be applied stays a proposal."""
    applied = 0
    for proposal in proposals:
        if proposal.kind in APPLICABLE and proposal.confidence >= curation.threshold:
            try:
                await accept(curation.context, owner, str(proposal.id), by=CURATOR)
            except (Conflict, InvalidInput):
                continue
            applied += 1
    return applied


def _to_proposal(context: Context, pair: ProposedPair) -> Proposal:
    now, decision = context.clock.now(), pair.decision
    return Proposal(
        id=uuid7(now, secrets.token_bytes(10)),
        kind=decision.kind,
        newer=pair.newer.id,
        older=pair.older.id,
        newer_version=pair.newer.version,
        older_version=pair.older.version,
        newer_quote=decision.newer_quote,
        older_quote=decision.older_quote,
        reason=decision.reason,
        confidence=decision.confidence,
        decided_by=pair.decided_by,
        created_at=now,
        project=pair.newer.project,
    )
