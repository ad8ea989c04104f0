"""Decide about proposals, and undo acceptances.

Nothing here deletes a memory: accepting adds a link, and undoing removes it. Proposals about
memories that the caller may not see are not found.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from recollect.core.curation.pairs import Kind
from recollect.core.curation.proposals import (
    CURATOR,
    STATES,
    UNDECIDED,
    JournalEntry,
    Proposal,
    State,
    Survivor,
    Verdict,
    merge,
    revert,
)
from recollect.core.errors import Conflict, InvalidInput, NotFound
from recollect.core.memory.ids import IdPart, uuid7
from recollect.ports.curation import CurationStore
from recollect.ports.service import Service
from recollect.usecases.context import Context
from recollect.usecases.memory.change import next_version, retry_on_conflict

MAX_LISTED: Final = 1_000


async def list_proposals(
    context: Context, owner: str, states: Collection[State] = UNDECIDED, limit: int = MAX_LISTED
) -> list[Proposal]:
    """List proposals in these states, oldest first."""
    found = await _curation(context).proposals(owner, states, limit)
    return await _select_visible(context, owner, found)


async def accept(
    context: Context, owner: str, reference: str, *, keep: Survivor = "newer", by: str
) -> JournalEntry:
    """Let the kept memory supersede the other one; raise Conflict if the proposal is void or
    already decided.
    """
    found = await _find(context, owner, reference)
    kept, other = (found.newer, found.older) if keep == "newer" else (found.older, found.newer)
    curation = _curation(context)

    async def attempt(now: datetime) -> JournalEntry | None:
        memories = await context.store.get_many(owner, [kept, other])
        if len(memories) < len({kept, other}):
            raise _void_error(found)
        survivor = memories[kept]
        changed, addition = merge(survivor, memories[other], found.kind, context.limits)
        actor = CURATOR if by == CURATOR else _reviewer(context)
        changed = next_version(survivor, changed, now, actor)
        entry = JournalEntry(
            uuid7(now, secrets.token_bytes(10)),
            found.id,
            found.kind,
            kept,
            other,
            addition,
            by,
            now,
            project=survivor.project,
        )
        if await curation.accept(owner, entry, changed, based_on=survivor.version):
            return entry
        current = await curation.proposal(owner, found.id)
        if current is None or current.state not in UNDECIDED:
            raise _void_error(current or found)
        return None

    return await retry_on_conflict(context, kept, attempt)


async def decide(context: Context, owner: str, reference: str, verdict: Verdict) -> Proposal:
    """Reject a proposal, or put it off. A rejected pair is not proposed again until one of its
    memories changes, unless the rejected proposal is put off later.
    """
    states = UNDECIDED if verdict == "rejected" else (*UNDECIDED, "rejected")
    found = await _find(context, owner, reference, states)
    curation = _curation(context)
    if not await curation.decide(owner, found.id, verdict):
        raise _void_error(found)
    current = await curation.proposal(owner, found.id)
    if current is None or current.state != verdict:  # its memories changed since it was rejected
        raise _void_error(current or found)
    return current


async def undo(context: Context, owner: str, reference: str | None = None) -> JournalEntry:
    """Revert an acceptance, by default the last one. Later edits are kept."""
    entry = await _find_entry(context, owner, reference)
    curation = _curation(context)

    async def attempt(now: datetime) -> JournalEntry | None:
        survivor = await context.store.get(owner, entry.survivor)
        if survivor is None:
            raise _nothing_to_undo(reference)
        changed = next_version(survivor, revert(survivor, entry), now, _reviewer(context))
        if await curation.undo(owner, entry.id, changed, based_on=survivor.version, at=now):
            return replace(entry, undone_at=now)
        current = await curation.journal_entry(owner, entry.id)
        if current is None or current.undone_at is not None:
            raise _nothing_to_undo(str(entry.id))
        return None

    return await retry_on_conflict(context, entry.survivor, attempt)


def _reviewer(context: Context) -> str:
    """Who accepts or undoes: whoever it is did not write the text."""
    return f"review by {context.actor or 'someone'}"


async def journal(context: Context, owner: str, limit: int) -> list[JournalEntry]:
    """List the latest acceptances that were not undone, newest first."""
    found = await _curation(context).journal(owner, limit)
    ids = {id for entry in found for id in (entry.survivor, entry.superseded)}
    seen = await context.store.get_many(owner, ids, forgotten=True)
    return [entry for entry in found if {entry.survivor, entry.superseded} <= seen.keys()]


async def accept_all(service: Service, kind: Kind) -> list[JournalEntry]:
    """Accept every undecided proposal of a kind, except those that became void meanwhile or whose
    survivor has no room for another link.
    """
    accepted: list[JournalEntry] = []
    for proposal in await service.proposals():
        if proposal.kind == kind:
            try:
                accepted.append(await service.accept_proposal(str(proposal.id)))
            except (Conflict, InvalidInput):
                continue
    return accepted


def _curation(context: Context) -> CurationStore:
    if context.curation is None:
        raise NotFound(
            "this store keeps no proposals",
            remedy="Ask the server that the memories are on, or the local store.",
        )
    return context.curation()


async def _select_visible(
    context: Context, owner: str, proposals: Sequence[Proposal]
) -> list[Proposal]:
    ids = {id for proposal in proposals for id in (proposal.newer, proposal.older)}
    seen = await context.store.get_many(owner, ids, forgotten=True)
    return [each for each in proposals if {each.newer, each.older} <= seen.keys()]


async def _find(
    context: Context, owner: str, reference: str, states: Collection[State] = UNDECIDED
) -> Proposal:
    prefix = IdPart.parse(reference)
    if prefix.low == prefix.high:
        exact = await _curation(context).proposal(owner, prefix.low)
        found = [] if exact is None else await _select_visible(context, owner, [exact])
    else:
        found = await list_proposals(context, owner, STATES, MAX_LISTED)
    matching = {each.id: each for each in found}
    id = prefix.only(prefix.select(matching), "proposals")
    if id is None:
        raise NotFound(
            f"there is no proposal {reference.strip()[:60]}",
            remedy="Run `recollect proposals` to see those that wait.",
        )
    if matching[id].state not in states:
        raise _void_error(matching[id])
    return matching[id]


async def _find_entry(context: Context, owner: str, reference: str | None) -> JournalEntry:
    """Find an entry by its own id or its proposal's, or the latest one."""
    entries = await journal(context, owner, MAX_LISTED)
    if reference is None:
        if not entries:
            raise _nothing_to_undo(None)
        return entries[0]
    prefix = IdPart.parse(reference)
    matching = {id: entry for entry in entries for id in (entry.proposal, entry.id)}
    id = prefix.only(prefix.select(matching), "acceptances")
    if id is None:
        raise _nothing_to_undo(reference)
    return matching[id]


def _void_error(proposal: Proposal) -> Conflict:
    if proposal.state in ("accepted", "rejected"):
        return Conflict(
            f"the proposal {proposal.id} is {proposal.state} already",
            remedy="Run `recollect undo` to revert an acceptance."
            if proposal.state == "accepted"
            else "Put it off to decide again; it is also proposed again once a memory changes.",
        )
    return Conflict(
        f"the proposal {proposal.id} is void: one of its memories was changed or forgotten",
        remedy="It is proposed again if it still holds.",
    )


def _nothing_to_undo(reference: str | None) -> NotFound:
    what = "nothing" if reference is None else f"no acceptance {reference.strip()[:60]}"
    return NotFound(
        f"there is {what} to undo", remedy="Run `recollect history ID` to see a memory's versions."
    )
