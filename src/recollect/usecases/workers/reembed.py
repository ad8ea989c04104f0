"""Change the embedding model without downtime: fill a new space next to the old one, build its
indexes, then switch in one transaction.

Every step can be killed and repeated: what is filled stays filled. Until the switch, recall uses
only the old space, so it is never worse than before; after it, the old space is the former one,
kept for a rollback. Older spaces are removed, and what an interrupted removal left is removed by
the next change.
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
from recollect.core.retry import MAX_BACKOFFS, WORKER_BACKOFF
from recollect.core.text.analysis import counted
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.embed import (
    EmbeddingContext,
    OnEmbedding,
    embed_batch,
)
from recollect.usecases.workers.worker import Sleep

_PAUSE: Final = 1.0
_RESUME: Final = "Then run the same command again: it continues where it stopped."


@dataclass(frozen=True, slots=True)
class SpaceStatus:
    """A space and its progress. `pending_indexes` are those of large owners, not built yet."""

    space: StoredSpace
    progress: EmbeddingProgress
    pending_indexes: int


async def status(context: EmbeddingContext) -> list[SpaceStatus]:
    """List every space, oldest first."""
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
    """Switch recall to the model called `name`; return once that is done.

    `accept_parked`: switch even if the new model could not read some texts that the old one could.
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
    """Drop the space that is being filled; the active one was never touched. If that is the former
    space, during a rollback, retire it instead. What an earlier cancellation left is removed, too.
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
    """Go back to the former space, after embedding what was stored since."""
    former = next((space for space in await context.queue.spaces() if space.is_former), None)
    if former is None:
        raise NotFound(
            "there is no former space to go back to",
            remedy="Run `recollect reembed --model NAME` with the model you want.",
        )
    await _check_alone(context, former.embedder)
    # A retired space gets no new memories, so it is now filled like a new one.
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
        await _require_current(context, space)  # cancelling the change also aborts the build
        raise
    # Building takes long, and memories are stored meanwhile.
    filled = await _fill(context, space, on_event, sleep)
    while await _is_incomplete(context, space, filled, accept_parked=accept_parked):
        await context.queue.wait_for_work(_PAUSE)
        filled = await _fill(context, space, on_event, sleep)
    await context.queue.activate(space)
    await _clean_up(context)
    return await _require_current(context, space)


async def _is_incomplete(
    context: EmbeddingContext, space: StoredSpace, filled: EmbeddingProgress, *, accept_parked: bool
) -> bool:
    """Whether this space still lacks a memory that the active one has. Raise if any failed, unless
    that is accepted.
    """
    gap = await context.queue.gap(space)
    if gap.failed and not accept_parked:
        raise ModelUnavailable(
            f"the model could not embed {counted(gap.failed, 'memory')}; "
            f"the last error: {filled.last_error}",
            remedy=f"Correct the cause. {_RESUME} Or switch without them: --accept-parked.",
        )
    return gap.missing > gap.failed


async def _clean_up(context: EmbeddingContext) -> None:
    """Remove spaces that were given up. Removing takes long: read the list again each time."""
    while given_up := [space for space in await context.queue.spaces() if space.is_given_up]:
        with suppress(Conflict):  # another process has removed it, or reuses it
            await context.queue.drop_space(given_up[0])


async def _fill(
    context: EmbeddingContext, space: StoredSpace, on_event: OnEmbedding, sleep: Sleep
) -> EmbeddingProgress:
    """Embed until all that is left, in any process, has failed and is not due soon: the queue
    retries those for hours.
    """
    failures, works = 0, False
    while True:
        await _require_current(context, space)
        try:
            done = await embed_batch(context, space, known_to_work=works)
        except ModelUnavailable as error:
            delay = error.seconds if isinstance(error, ModelBusy) else 0.0
            # A busy model that asks for a delay has not failed.
            failures, works = failures + (delay == 0.0), False
            if failures == MAX_BACKOFFS:
                raise ModelUnavailable(str(error), remedy=f"{error.remedy} {_RESUME}") from error
            seconds = max(WORKER_BACKOFF.wait(failures + 1), delay)
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
        # Another process has claimed the rest, or a retry is due soon.
        await context.queue.wait_for_work(_PAUSE)


async def _require_current(context: EmbeddingContext, space: StoredSpace) -> StoredSpace:
    for current in await context.queue.spaces():
        if current.id == space.id and current.state != "retired":
            return current
    raise Conflict(
        "the re-embedding was cancelled meanwhile",
        remedy="Nothing has changed for recall; run it again if you still want it.",
    )
