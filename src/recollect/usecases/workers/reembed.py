"""Change the embedding model without a moment's downtime: fill a new space beside the old one, make
it fast, then switch in one transaction.

Every step can be killed and done again: what is filled stays filled. Until the switch recall asks
the old space alone, so it is never worse than before; after it the old space is the former one,
kept for the way back. Older ones than that are removed, and what a killed removal left is removed
by the next change.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.errors import (
    Conflict,
    InvalidInput,
    ModelBusy,
    ModelUnavailable,
    NotFound,
    StoreError,
)
from recollect.core.recall.space import EmbeddingProgress, StoredSpace
from recollect.core.text.analysis import counted
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.embed import (
    EmbeddingContext,
    OnEmbedding,
    embed_batch,
)
from recollect.usecases.workers.worker import Sleep

_PAUSE: Final = 1.0
# After this many failures in a row of the whole model, which take about a minute with their pauses,
# a person is told instead of being kept waiting. One that says how long it wants to be left alone
# has not failed.
_FAILURES: Final = 6
_AGAIN: Final = "Then run the same command again: it goes on where it stopped."


@dataclass(frozen=True, slots=True)
class SpaceStatus:
    """One space and how far it is. `pending_indexes`: of large owners, still to be built."""

    space: StoredSpace
    progress: EmbeddingProgress
    pending_indexes: int


async def status(context: EmbeddingContext) -> list[SpaceStatus]:
    """Every space, oldest first."""
    return [
        SpaceStatus(
            space,
            await context.queue.progress(space),
            await context.queue.pending_indexes(space),
        )
        for space in await context.queue.spaces()
    ]


async def reembed(
    context: EmbeddingContext,
    name: str,
    on_event: OnEmbedding = lambda _: None,
    *,
    accept_parked: bool = False,
    sleep: Sleep = asyncio.sleep,
) -> StoredSpace:
    """Make the model called `name` the one that recall asks. Returns when it is.

    `accept_parked`: switch even though the new model could not read some texts that the old one
    could.
    """
    if name == NO_EMBEDDER:
        raise InvalidInput(
            f"{NO_EMBEDDER!r} is not a model",
            field="model",
            remedy="Set dense_weight to 0 to recall without embeddings, or name a model.",
        )
    await _check_alone(context, name)
    embedder = await context.embedders.embedder(name)
    space = await context.queue.open_space(name, embedder.space)
    return await _switch_to(context, space, on_event, accept_parked=accept_parked, sleep=sleep)


async def cancel(context: EmbeddingContext) -> StoredSpace:
    """Drop the space that is being filled; the active one was never touched. The former one, when
    it is filled to go back to it, is put back. What an earlier cancelling left is removed, too.
    """
    spaces = await context.queue.spaces()
    filling = [space for space in spaces if space.state == "filling"]
    ended = filling or [space for space in spaces if space.is_given_up]
    if not ended:
        raise NotFound(
            "no re-embedding is under way",
            remedy="To go back to the former model, run `recollect reembed --rollback`.",
        )
    for space in filling:
        if space.is_former:
            await context.queue.retire(space)
        else:
            await context.queue.drop_space(space)
    await _clean_up(context)
    return ended[-1]


async def rollback(
    context: EmbeddingContext,
    on_event: OnEmbedding = lambda _: None,
    *,
    accept_parked: bool = False,
    sleep: Sleep = asyncio.sleep,
) -> StoredSpace:
    """Go back to the former space. What was stored since is embedded first."""
    former = next((space for space in await context.queue.spaces() if space.is_former), None)
    if former is None:
        raise NotFound(
            "there is no former space to go back to",
            remedy="Run `recollect reembed --model NAME` with the model you want.",
        )
    await _check_alone(context, former.embedder)
    # A retired space gets no new memories: from here on it is filled like a new one.
    space = await context.queue.open_space(former.embedder, former.space)
    return await _switch_to(context, space, on_event, accept_parked=accept_parked, sleep=sleep)


async def _check_alone(context: EmbeddingContext, name: str) -> None:
    for space in await context.queue.spaces():
        if space.state == "filling" and space.embedder != name:
            raise Conflict(
                f"re-embedding with {space.embedder} is under way",
                remedy=f"Finish it with `recollect reembed --model {space.embedder}`, or cancel it "
                "with `recollect reembed --cancel`.",
            )


async def _switch_to(
    context: EmbeddingContext,
    space: StoredSpace,
    on_event: OnEmbedding,
    *,
    accept_parked: bool,
    sleep: Sleep,
) -> StoredSpace:
    if not accept_parked:
        await context.queue.retry_parked(space)
    await _fill(context, space, on_event, sleep)
    try:
        await context.queue.build_indexes(space)
    except StoreError:
        await _current(context, space)  # cancelling a change also ends the build
        raise
    # Building takes long, and memories go on being stored.
    filled = await _fill(context, space, on_event, sleep)
    while await _lacks_any(context, space, filled, accept_parked=accept_parked):
        await context.queue.wait_for_work(_PAUSE)
        filled = await _fill(context, space, on_event, sleep)
    await context.queue.activate(space)
    await _clean_up(context)
    return await _current(context, space)


async def _lacks_any(
    context: EmbeddingContext, space: StoredSpace, filled: EmbeddingProgress, *, accept_parked: bool
) -> bool:
    """Whether a memory that the active space knows is still on its way to this one. Refuse to
    switch when any failed, unless that is accepted.
    """
    gap = await context.queue.gap(space)
    if gap.failed and not accept_parked:
        raise ModelUnavailable(
            f"the model could not embed {counted(gap.failed, 'memory')}; "
            f"the last error: {filled.last_error}",
            remedy=f"Correct the cause. {_AGAIN} Or switch without them: --accept-parked.",
        )
    return gap.missing > gap.failed


async def _clean_up(context: EmbeddingContext) -> None:
    """Remove what was given up. Removing takes long: look again each time."""
    while given_up := [space for space in await context.queue.spaces() if space.is_given_up]:
        with suppress(Conflict):  # another process has removed it, or uses it again
            await context.queue.drop_space(given_up[0])


async def _fill(
    context: EmbeddingContext, space: StoredSpace, on_event: OnEmbedding, sleep: Sleep
) -> EmbeddingProgress:
    """Embed until nothing waits but what failed, in any process, and is not retried soon:
    the queue tries it more often, but takes hours for it.
    """
    failures, works = 0, False
    while True:
        await _current(context, space)
        try:
            done = await embed_batch(context, space, known_to_work=works)
        except ModelUnavailable as error:
            asked = error.seconds if isinstance(error, ModelBusy) else 0.0
            failures, works = failures + (asked == 0.0), False
            if failures == _FAILURES:
                raise ModelUnavailable(str(error), remedy=f"{error.remedy} {_AGAIN}") from error
            seconds = max(_PAUSE * 2**failures, asked)
            on_event(BackoffEvent(space.space.name, error, seconds))
            await sleep(seconds)
            continue
        failures, works = 0, True
        if done is not None:
            on_event(done)
            continue
        progress = await context.queue.progress(space)
        if progress.waiting <= progress.failing - progress.soon:
            return progress
        await context.queue.wait_for_work(
            _PAUSE
        )  # another process has claimed the rest, or it is soon


async def _current(context: EmbeddingContext, space: StoredSpace) -> StoredSpace:
    for current in await context.queue.spaces():
        if current.id == space.id and current.state != "retired":
            return current
    raise Conflict(
        "the re-embedding was cancelled meanwhile",
        remedy="Nothing has changed for recall; run it again if you still want it.",
    )
