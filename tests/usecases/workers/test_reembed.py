"""Changing the model: the old space serves until the end, and failures leave a consistent state."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.usecases.queues import InMemoryQueue, Model, Time, parts_with

from recollect.core.errors import (
    Conflict,
    InvalidInput,
    ModelBusy,
    ModelUnavailable,
    NotFound,
    StoreBusy,
)
from recollect.core.recall.space import SpaceState, StoredSpace
from recollect.usecases.workers import reembed
from recollect.usecases.workers.embed import BATCH, EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker

pytestmark = pytest.mark.anyio

GONE = ModelUnavailable("gone", remedy="Look.")
BUSY = ModelBusy("busy, nobody says how long", remedy="Wait.")
TEXTS = {UUID(int=place): f"text {place}" for place in range(2 * BATCH + 3)}


async def make_served(*models: Model) -> tuple[EmbeddingContext, InMemoryQueue]:
    """Return a context whose memories the first model has embedded."""
    queue = InMemoryQueue(dict(TEXTS))
    context = parts_with(queue, *models)
    await Worker(EmbeddingStep(context)).work_off()
    queue.kept.clear()
    return context, queue


def states(queue: InMemoryQueue) -> dict[str, str]:
    return {known.embedder: known.state for known in queue.known}


async def test_the_new_space_is_full_and_indexed_before_it_is_asked() -> None:
    old, new = Model("old"), Model("new")
    context, queue = await make_served(old, new)
    at_switch: list[tuple[int, bool, dict[str, str]]] = []
    activate = queue.activate

    async def record_and_activate(space: StoredSpace) -> None:
        progress = await queue.progress(space)
        at_switch.append((progress.waiting, space.id in queue.indexed, states(queue)))
        await activate(space)

    queue.activate = record_and_activate  # type: ignore[method-assign]  # records the switch
    active = await reembed.reembed(context, "new")
    assert at_switch == [(0, True, {"old": "active", "new": "filling"})]
    assert (active.embedder, active.state) == ("new", "active")
    assert states(queue) == {"old": "retired", "new": "active"}
    assert len(queue.kept) == len(TEXTS)


async def test_what_is_stored_while_the_index_is_built_is_embedded_before_the_switch() -> None:
    context, queue = await make_served(Model("old"), Model("new"))
    build = queue.build_indexes

    async def build_and_store(space: StoredSpace) -> None:
        await build(space)
        queue.texts[UUID(int=9999)] = "stored meanwhile"

    queue.build_indexes = build_and_store  # type: ignore[method-assign]  # stores while it builds
    active = await reembed.reembed(context, "new")
    assert queue.has(active, UUID(int=9999))


async def test_it_goes_on_where_it_was_killed() -> None:
    new = Model("new")
    context, queue = await make_served(Model("old"), new)
    batches = 0

    def kill_at_second_batch(_: object) -> None:
        nonlocal batches
        batches += 1
        if batches == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await reembed.reembed(context, "new", kill_at_second_batch)
    assert states(queue) == {"old": "active", "new": "filling"}
    assert len(queue.kept) == 2 * BATCH
    new.asked.clear()
    await reembed.reembed(context, "new")
    assert states(queue) == {"old": "retired", "new": "active"}
    assert sorted(queue.kept) == sorted((2, id) for id in TEXTS)  # none of them twice
    again = await reembed.reembed(context, "new")
    assert again.state == "active"


async def test_cancelling_drops_the_new_space_and_leaves_the_old_one() -> None:
    context, queue = await make_served(Model("old"), Model("new"))
    with pytest.raises(NotFound, match="no re-embedding"):
        await reembed.cancel(context)
    await queue.open_space("new", Model("new").space)
    assert (await reembed.cancel(context)).embedder == "new"
    assert states(queue) == {"old": "active"}


async def test_a_run_that_was_cancelled_elsewhere_notices() -> None:
    context, queue = await make_served(Model("old"), Model("new"))

    def cancel_elsewhere(_: object) -> None:
        queue.known = [known for known in queue.known if known.state != "filling"]

    with pytest.raises(Conflict, match="cancelled"):
        await reembed.reembed(context, "new", cancel_elsewhere)
    assert states(queue) == {"old": "active"}


async def test_a_run_reports_that_a_cancellation_ended_its_index_build() -> None:
    context, queue = await make_served(Model("old"), Model("new"))
    is_cancelled = True

    async def end_build(space: StoredSpace) -> None:
        if is_cancelled:
            state: SpaceState = "retired"
            queue.known = [
                replace(known, state=state) if known.id == space.id else known
                for known in queue.known
            ]
        raise StoreBusy("the build was ended", remedy="Try again.")

    queue.build_indexes = end_build  # type: ignore[method-assign]  # during the build
    with pytest.raises(Conflict, match="cancelled"):
        await reembed.reembed(context, "new")
    is_cancelled = False
    with pytest.raises(StoreBusy):
        await reembed.reembed(context, "new")


async def test_two_changes_at_once_are_refused() -> None:
    context, queue = await make_served(Model("old"), Model("new"), Model("third"))
    await queue.open_space("new", Model("new").space)
    with pytest.raises(Conflict, match="new is under way") as caught:
        await reembed.reembed(context, "third")
    assert "--cancel" in caught.value.remedy
    with pytest.raises(InvalidInput):
        await reembed.reembed(context, "none")


async def test_rolling_back_embeds_first_what_the_old_space_missed() -> None:
    old = Model("old")
    context, queue = await make_served(old, Model("new"))
    with pytest.raises(NotFound, match="no former space"):
        await reembed.rollback(context)
    await reembed.reembed(context, "new")
    queue.texts[UUID(int=9999)] = "stored since"
    await Worker(EmbeddingStep(context)).work_off()
    old.asked.clear()
    back = await reembed.rollback(context)
    assert states(queue) == {"old": "active", "new": "retired"}
    assert queue.has(back, UUID(int=9999))
    assert ["stored since"] in old.asked
    assert sum(map(len, old.asked)) <= 1 + len(old.asked)  # that one, and probes


async def test_only_the_space_before_is_kept() -> None:
    context, queue = await make_served(Model("one"), Model("two"), Model("three"))
    await reembed.reembed(context, "two")
    await reembed.reembed(context, "three")
    assert states(queue) == {"two": "retired", "three": "active"}


@pytest.mark.parametrize("down", [GONE, BUSY])
async def test_a_model_that_fails_again_and_again_is_given_up_with_the_old_space_in_use(
    down: ModelUnavailable,
) -> None:
    new = Model("new", down=down)
    context, queue = await make_served(Model("old"), new)
    time = Time()
    with pytest.raises(ModelUnavailable, match=str(down)) as caught:
        await reembed.reembed(context, "new", sleep=time.sleep)
    assert time.slept == [2, 4, 8, 16, 32]
    assert "same command again" in caught.value.remedy
    assert states(queue) == {"old": "active", "new": "filling"}
    new.down = None
    await reembed.reembed(context, "new")
    assert states(queue) == {"old": "retired", "new": "active"}


async def test_a_busy_model_is_left_alone_as_long_as_it_asks_and_not_given_up_for_it() -> None:
    asked = [63.0, 0.5, *[90.0] * 6]
    errors = [ModelBusy("busy", seconds=seconds, remedy="Wait.") for seconds in asked]
    troubles = iter([*errors[:2], GONE, BUSY, *errors[2:]])
    new, time = Model("new", down=next(troubles)), Time()
    context, queue = await make_served(Model("old"), new)

    async def sleep(seconds: float) -> None:
        await time.sleep(seconds)
        new.down = next(troubles, None)

    await reembed.reembed(context, "new", sleep=sleep)
    assert time.slept == [63, 1, 2, 4, *[90] * 6]
    assert states(queue) == {"old": "retired", "new": "active"}


async def test_a_space_with_fewer_vectors_than_the_old_one_is_not_activated() -> None:
    new = Model("new", poison={"text 1": ValueError()})
    context, queue = await make_served(Model("old"), new)
    with pytest.raises(ModelUnavailable, match="1 memory; the last error: ValueError"):
        await reembed.reembed(context, "new")
    assert states(queue) == {"old": "active", "new": "filling"}
    await reembed.reembed(context, "new", accept_parked=True)
    assert states(queue) == {"old": "retired", "new": "active"}


def fail_on_wait() -> None:
    raise AssertionError("it waits for a text that it must not wait for")


async def test_a_text_whose_next_try_is_soon_is_waited_for_and_no_other() -> None:
    new = Model("new", poison={"text 1": ValueError()})
    context, queue = await make_served(Model("old"), new)
    queue.delays, queue.on_wait = True, fail_on_wait
    with pytest.raises(ModelUnavailable, match="1 memory"):
        await reembed.reembed(context, "new")

    def recover() -> None:
        new.poison.clear()
        queue.lapse()

    queue.is_soon, queue.on_wait = True, recover
    await reembed.reembed(context, "new")
    assert states(queue) == {"old": "retired", "new": "active"}
    assert len(queue.waits) == 1


async def test_what_failed_is_tried_again_unless_the_change_goes_on_without_it() -> None:
    new = Model("new", poison={"text 1": ValueError()})
    context, queue = await make_served(Model("old"), new)
    queue.delays, queue.on_wait = True, fail_on_wait
    with pytest.raises(ModelUnavailable):
        await reembed.reembed(context, "new")
    tried = sum(asked == ["text 1"] for asked in new.asked)
    with pytest.raises(ModelUnavailable):
        await reembed.reembed(context, "new")
    assert sum(asked == ["text 1"] for asked in new.asked) == tried + 1
    await reembed.reembed(context, "new", accept_parked=True)
    assert sum(asked == ["text 1"] for asked in new.asked) == tried + 1
    assert states(queue) == {"old": "retired", "new": "active"}


async def test_a_text_that_the_old_model_could_not_read_either_does_not_stop_the_change() -> None:
    poison: dict[str, Exception] = {"text 1": ValueError()}
    context, queue = await make_served(Model("old", poison=poison), Model("new", poison=poison))
    await reembed.reembed(context, "new")
    assert states(queue) == {"old": "retired", "new": "active"}


async def test_status_reports_every_space() -> None:
    context, queue = await make_served(Model("old"), Model("new"))
    await queue.open_space("new", Model("new").space)
    counts = [
        (status.space.embedder, status.progress.embedded, status.progress.waiting)
        for status in await reembed.status(context)
    ]
    assert counts == [("old", len(TEXTS), 0), ("new", 0, len(TEXTS))]
