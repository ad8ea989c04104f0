"""Examine changed memories: store what is proposed, and apply it where that is wanted."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from recollect.core.admin.modes import CurationMode
from recollect.core.curation.proposals import APPLICABLE, CURATOR, Proposal
from recollect.core.errors import Conflict, InvalidInput
from recollect.core.memory.ids import uuid7
from recollect.ports.curation import CurationStore
from recollect.ports.language import AskedModel
from recollect.usecases.context import Context
from recollect.usecases.curation.ask import Attempt, CountedModel, LimitedModel
from recollect.usecases.curation.propose import ProposedPair, propose
from recollect.usecases.curation.review import accept

BATCH: Final = 20


@dataclass(frozen=True, slots=True)
class CurationContext:
    """What the curator needs. `mode` is not `off`; `threshold`: what `apply` applies is at least
    so sure. `model` is asked about doubtful pairs, up to `calls` times a day.
    """

    context: Context
    store: CurationStore
    mode: CurationMode
    threshold: float
    model: AskedModel | None = None
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Examined:
    """One batch: how many memories, and what came of it. `asked`: the calls to a language model;
    `dropped`: those whose answer could not be used.
    """

    memories: int
    proposed: int
    applied: int
    asked: int = 0
    dropped: int = 0


async def examine_batch(curation: CurationContext, attempt: Attempt) -> Examined | None:
    """Examine some memories that changed; None if there are none. A model is asked through
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
        made = [_to_proposal(context, pair) for pair in pairs]
        kept = await curation.store.keep_proposals(owner, made)
        proposed += len(kept)
        if curation.mode == "apply":
            applied += await _apply(curation, owner, kept)
    await curation.store.mark_examined(changed)
    asked, dropped = (0, 0) if counted is None else (counted.asked, counted.dropped)
    return Examined(len(changed.memories), proposed, applied, asked, dropped)


async def _apply(curation: CurationContext, owner: str, proposals: list[Proposal]) -> int:
    """Accept what is sure enough; what cannot be applied stays a proposal."""
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
