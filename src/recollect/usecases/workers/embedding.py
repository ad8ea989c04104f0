"""The worker's step that embeds, for every space that needs it."""

from __future__ import annotations

from functools import partial

from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.recall.space import StoredSpace
from recollect.usecases.workers.backoff import BackoffEvent, Backoffs
from recollect.usecases.workers.embed import (
    WHOLE_BATCH,
    Budget,
    Embedded,
    EmbeddingContext,
    OnEmbedding,
    embed_batch,
)


class EmbeddingStep:
    """Embeds for every space that is active or filling. A space whose model cannot work backs off,
    and the others go on.
    """

    quiet_seconds = 0.1

    def __init__(
        self,
        context: EmbeddingContext,
        on_event: OnEmbedding = lambda _: None,
        budget: Budget = WHOLE_BATCH,
    ) -> None:
        self._context = context
        self._on_event = on_event
        self._budget = budget
        self._working: set[int] = set()  # spaces whose model is known to work

    async def work(self, backoffs: Backoffs) -> bool:
        """One batch for each space, the active one first."""
        worked = False
        for space in await self._spaces(backoffs):
            embed = partial(self._embed, space)
            done = await backoffs.attempt(space.id, space.space.name, embed)
            if done is not None:
                self._on_event(done)
                worked = True
        return worked

    async def wait_for_work(self, seconds: float) -> None:
        await self._context.queue.wait_for_work(seconds)

    async def count_left(self) -> tuple[int, int]:
        queue = self._context.queue
        progress = [await queue.progress(space) for space in await _spaces_in_use(self._context)]
        return sum(part.waiting for part in progress), sum(part.failing for part in progress)

    def report(self, event: BackoffEvent) -> None:
        self._on_event(event)

    async def _embed(self, space: StoredSpace) -> Embedded | None:
        known_to_work = space.id in self._working
        self._working.discard(space.id)
        done = await embed_batch(
            self._context, space, known_to_work=known_to_work, budget=self._budget
        )
        self._working.add(space.id)
        return done

    async def _spaces(self, backoffs: Backoffs) -> list[StoredSpace]:
        spaces = await _spaces_in_use(self._context)
        if not any(space.state == "active" for space in spaces):
            default = self._context.default
            first = await backoffs.attempt(None, default, lambda: open_first_space(self._context))
            spaces += [] if first is None else [first]
        return sorted(spaces, key=lambda space: space.state != "active")


async def retry_parked(context: EmbeddingContext) -> int:
    """Give another chance to what is parked or waits after a failure, in every space in use."""
    spaces = await _spaces_in_use(context)
    return sum([await context.queue.retry_parked(space) for space in spaces])


async def open_first_space(context: EmbeddingContext) -> StoredSpace | None:
    """The space of the configured model, for a database that has no active one; None when no
    model is configured, or another process was faster.
    """
    if context.default == NO_EMBEDDER:
        return None
    before = {space.id for space in await context.queue.spaces()}
    embedder = await context.embedders.embedder(context.default)
    opened = await context.queue.open_space(context.default, embedder.space)
    if opened.state == "active":
        return opened
    if opened.id not in before:  # no one asked for a second space
        await context.queue.drop_space(opened)
    return None


async def _spaces_in_use(context: EmbeddingContext) -> list[StoredSpace]:
    return [space for space in await context.queue.spaces() if space.state != "retired"]
