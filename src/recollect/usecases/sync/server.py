"""The server's side of sync: apply a client's writes, and return what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.duplicates import PlacedText, removal_conflict
from recollect.core.memory.memory import EPISODE
from recollect.core.sync.decide import can_be_kept, decide
from recollect.core.sync.model import (
    MAX_ITEMS,
    Decision,
    Outgoing,
    Pushed,
    Refusal,
    Remote,
    Revision,
    State,
)
from recollect.core.text.analysis import repair_text
from recollect.usecases.admin import settings as tune

if TYPE_CHECKING:
    from recollect.core.sync.model import ChangePage
    from recollect.ports.sync import ChangeStore
    from recollect.usecases.context import Context


async def push(
    context: Context,
    changes: ChangeStore,
    owner: str,
    store: UUID,
    items: Sequence[Outgoing],
    revisions: Sequence[Revision],
    *,
    sensitive: bool,
    epoch: UUID | None = None,
) -> Pushed:
    """Apply each write that is based on the current version, and answer each with the state that is
    current now. The answer contains a sensitive memory's text only if that may leave. Writes based
    on another epoch are not applied: after a restore a version may mean something else.
    """
    check_push_size(len(items), len(revisions))
    now = context.clock.now()
    peer = await changes.peer(owner)
    if epoch is not None and epoch != peer.epoch:
        return Pushed(peer, ())

    former = await context.store.former_names(owner)
    items = [_in_present_project(item, former) for item in items]
    removed = await context.store.find_removed(owner, {*filter(None, map(_placed_text, items))})

    def decide_here(item: Outgoing, current: Remote | None) -> Decision | None:
        decision = decide(owner, item, current, context.limits, now)
        if current is None and isinstance(decision, State) and not decision.memory.deleted_at:
            at = removed.get((decision.memory.project, decision.memory.content))
            if at is not None and decision.memory.updated_at <= at:
                error = removal_conflict()
                return Refusal(str(error), error.remedy)
        if isinstance(decision, State):
            memory = replace(decision.memory, changed_by=context.actor)
            return replace(decision, memory=memory)
        return decision

    answers = await changes.apply(owner, store, items, decide_here)
    # A revision that cannot be stored here stays on the client that created it.
    storable = [revision for revision in revisions if can_be_kept(revision, context.limits)]
    kept = await changes.keep_revisions(owner, storable)
    visible = [
        replace(answer, remote=hide_sensitive(answer.remote, sensitive=sensitive))
        for answer in answers
    ]
    return Pushed(peer, tuple(visible), tuple(kept))


def _in_present_project(item: Outgoing, former: Mapping[str, str]) -> Outgoing:
    """A client that was away may know a project by a former name."""
    project = (item.fields or {}).get("project")
    if not isinstance(project, str) or project not in former:
        return item
    return replace(item, fields={**(item.fields or {}), "project": former[project]})


def _placed_text(item: Outgoing) -> PlacedText | None:
    fields = item.fields or {}
    project, content = fields.get("project"), fields.get("content")
    if fields.get("category") == EPISODE or not isinstance(content, str):
        return None
    named = repair_text(project).strip() if isinstance(project, str) else ""
    return named or None, repair_text(content).strip()


def check_push_size(items: int, revisions: int) -> None:
    if items > MAX_ITEMS or revisions > MAX_ITEMS:
        raise InvalidInput(
            f"a push holds at most {MAX_ITEMS} writes and {MAX_ITEMS} revisions",
            field="memories",
            remedy="Send several smaller pushes.",
        )


def hide_sensitive(remote: Remote | None, *, sensitive: bool) -> Remote | None:
    """Drop the state of a sensitive memory unless it may leave: the client learns only that it
    exists.
    """
    if remote is None or remote.state is None or sensitive:
        return remote
    return replace(remote, state=None) if remote.state.memory.is_sensitive else remote


async def pull(
    context: Context,
    changes: ChangeStore,
    owner: str,
    store: UUID,
    cursor: int,
    limit: int,
    *,
    sensitive: bool,
    count: bool,
) -> ChangePage:
    """Return one page of changes after a cursor. A client that has read a page has seen all changes
    before it, including those of long transactions (docs/adr/0018). Each page contains the recall
    settings, so that a client's own recall ranks the same.
    """
    if not 1 <= limit <= MAX_ITEMS:
        raise InvalidInput(
            f"limit {limit} is outside 1..{MAX_ITEMS}",
            field="limit",
            remedy=f"Ask for 1 to {MAX_ITEMS} changes at once.",
        )
    page = await changes.page(owner, store, cursor, limit, sensitive=sensitive, count=count)
    memories = (hide_sensitive(memory, sensitive=sensitive) for memory in page.memories)
    return replace(
        page,
        memories=tuple(memory for memory in memories if memory is not None),
        settings=(await tune.settings(context)).as_dict(),
        former_names=await context.store.former_names(owner),
    )
