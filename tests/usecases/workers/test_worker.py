"""The worker's loop, over a queue and models in memory: what it works on, and whom it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

import pytest
from tests.usecases.benches import GONE, Bench, bench, open_space
from tests.usecases.queues import InMemoryQueue, Model, Models, parts_with

from recollect.core.errors import ModelBusy, ModelSlow, ModelUnavailable, StoreUnavailable
from recollect.core.recall.space import StoredSpace
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.embed import BATCH, EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker

pytestmark = pytest.mark.anyio


async def test_the_first_space_is_the_configured_models_and_everything_gets_its_vector_once() -> (
    None
):
    model = Model("m")
    one = bench(3 * BATCH + 1, model)
    await one.run_until(one.all_embedded)
    (space,) = one.queue.known
    assert (space.embedder, space.state, space.space) == ("m", "active", model.space)
    assert sorted(one.queue.kept) == [(space.id, id) for id in sorted(one.queue.texts)]
    assert max(len(asked) for asked in model.asked) == BATCH


async def test_without_a_model_nothing_is_opened() -> None:
    one = bench(3, Model("m"), default="none")
    await one.worker.work_off()
    assert one.queue.known == []


async def test_an_active_space_is_kept_whatever_is_configured() -> None:
    old, new = Model("old"), Model("new")
    one = bench(3, new, old)

    await open_space(one, old)
    await one.worker.work_off()
    assert [space.embedder for space in one.queue.known] == ["old"]
    assert new.asked == []


async def test_a_second_server_that_is_late_leaves_no_second_space() -> None:
    """Between its look and its opening another process opens a space with another model."""
    mine, theirs = Model("mine"), Model("theirs")
    one = bench(1, mine, theirs)

    class Late(Models):
        async def embedder(self, name: str) -> Model:
            if name == "mine" and not one.queue.known:
                await open_space(one, theirs)
            return {"mine": mine, "theirs": theirs}[name]

    one.context = EmbeddingContext(one.queue, Late(), "mine")
    await one.worker.work_off()
    assert [space.embedder for space in one.queue.known] == ["theirs"]


async def test_a_filling_space_is_filled_like_the_active_one() -> None:
    old, new, gone = Model("old"), Model("new"), Model("gone")
    one = bench(BATCH + 5, old, new, gone)

    retired = await open_space(one, gone)
    active = await open_space(one, old)
    await one.queue.activate(active)
    await open_space(one, new)
    await one.worker.work_off()
    assert (await one.queue.progress(retired)).embedded == 0
    assert [space.state for space in one.queue.known] == ["retired", "active", "filling"]
    assert len(one.queue.kept) == 2 * (BATCH + 5)
    assert gone.asked == []


async def test_an_unavailable_model_costs_no_attempts_and_is_retried_with_backoff() -> None:
    model = Model("m", down=GONE)
    one = bench(BATCH, model)

    space = await open_space(one, model)

    async def has_backed_off() -> bool:
        return len(one.events) == 9

    await one.run_until(has_backed_off)
    progress = await one.queue.progress(space)
    assert (progress.waiting, progress.parked) == (BATCH, 0)
    assert progress.last_error == "the model is gone"
    assert all(row.attempts == 0 and not row.claimed for row in one.queue.rows.values())
    seconds = [note.seconds for note in one.events if isinstance(note, BackoffEvent)]
    assert seconds == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    model.down = None
    await one.run_until(one.all_embedded)
    assert (await one.queue.progress(space)).last_error is None


async def test_new_work_does_not_shorten_the_backoff() -> None:
    model = Model("m", down=GONE)
    one = bench(1, model)
    rings = 0

    enough = asyncio.Event()

    def ring() -> None:
        nonlocal rings
        rings += 1
        one.time.moment += 0.3
        if rings == 50:
            enough.set()

    await open_space(one, model)
    one.queue.on_wait = ring
    worker = Worker(EmbeddingStep(one.context), sleep=lambda _: asyncio.sleep(0), now=one.time.now)
    working = asyncio.ensure_future(worker.run())
    await enough.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert len(model.asked) <= 5  # at about 0, 1, 3, 7 and 15 seconds


async def test_trouble_with_one_space_does_not_hold_up_another() -> None:
    good, bad = Model("good"), Model("bad", down=GONE)
    one = bench(BATCH, good, bad)

    active = await open_space(one, bad)
    filling = await open_space(one, good)

    async def is_filled() -> bool:
        return (await one.queue.progress(filling)).waiting == 0

    await one.run_until(is_filled)
    assert (await one.queue.progress(active)).waiting == BATCH


async def test_a_model_that_cannot_be_made_is_tried_again() -> None:
    model = Model("m")
    one = bench(1, model)
    models = Models({"m": GONE})
    one.context = EmbeddingContext(one.queue, models, "m")

    async def has_retried() -> bool:
        return len(one.events) >= 3

    await one.run_until(has_retried)
    assert one.queue.known == []
    models.by_name["m"] = model
    await one.run_until(one.all_embedded)


async def test_a_hosted_model_is_asked_only_when_there_is_work() -> None:
    hosted, local = Model("hosted", is_hosted=True), Model("local")
    for model, asked in ((hosted, 0), (local, 1)):
        one = bench(0, model)
        await one.worker.work_off()
        assert len(model.asked) == asked  # a local model is loaded before the first memory arrives


async def test_a_text_that_changes_while_it_is_embedded_is_embedded_again() -> None:
    model = Model("m")
    one = bench(1, model)

    def edit(texts: object) -> None:
        if texts == ["text 0"]:
            one.queue.texts[UUID(int=0)] = "another text"

    model.on_texts = edit
    await one.worker.work_off()
    (space,) = one.queue.known
    assert one.queue.kept == [(space.id, UUID(int=0))]
    assert model.asked[-1] == ["another text"]


async def test_stopping_gives_back_what_is_in_hand() -> None:
    model = Model("m", is_hosted=True)
    one = bench(3, model)

    model.hanging = asyncio.Event()
    working = asyncio.ensure_future(one.worker.run())
    await model.hanging.wait()
    assert sum(row.claimed for row in one.queue.rows.values()) == 3
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert not any(row.claimed or row.attempts for row in one.queue.rows.values())


async def test_what_a_dead_worker_held_is_done_by_the_next() -> None:
    model = Model("m")
    one = bench(3, model)

    space = await open_space(one, model)
    await one.queue.claim(space, 2)  # and then it died
    one.queue.on_wait = one.queue.lapse
    await one.worker.work_off()
    assert len(one.queue.kept) == 3


async def test_the_worker_waits_for_an_unavailable_store() -> None:
    model = Model("m")
    one = bench(2, model)
    away = [True, True, True]

    class Away(InMemoryQueue):
        async def spaces(self) -> list[StoredSpace]:
            if away:
                away.pop()
                raise StoreUnavailable("away", remedy="wait")
            return await super().spaces()

    queue = Away(one.queue.texts)
    other = Bench(parts_with(queue, model), queue)
    await other.run_until(other.all_embedded)
    assert other.time.slept == [1.0, 2.0, 4.0]
    assert len(queue.kept) == 2


async def test_a_burst_of_new_memories_is_embedded_together() -> None:
    model = Model("m")
    one = bench(1, model)
    bell = iter([0.0] + [0.03] * 12)  # the pauses between notifications; after that it is quiet

    async def are_both_embedded() -> bool:
        return len(one.queue.kept) == 14

    waiting = one.queue.wait_for_work

    async def wait_for_bell(seconds: float) -> None:
        after = next(bell, None)
        if after is None:
            await waiting(seconds)
            return
        one.queue.texts[UUID(int=100 + len(one.queue.texts))] = "one more"
        one.time.moment += after
        await asyncio.sleep(0)

    one.queue.wait_for_work = wait_for_bell  # type: ignore[method-assign]  # uses `bell`
    await one.run_until(are_both_embedded)
    assert [len(asked) for asked in model.asked if asked != ["recollect"]] == [1, 13]


async def test_working_off_waits_for_a_model_that_is_busy_or_slow_but_not_for_long() -> None:
    errors: list[ModelUnavailable] = [ModelSlow("slow", remedy="wait")] * 2
    errors += [ModelBusy("busy", seconds=seconds, remedy="wait") for seconds in (20.0, 0.0, 600.0)]

    class Tiring(Model):
        async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            if "text 0" in texts and errors:
                raise errors.pop(0)
            return await super().embed_documents(texts)

    one = bench(3, Tiring("m"))
    with pytest.raises(ModelBusy, match="busy"):
        await one.worker.work_off()
    assert errors == []
    assert one.time.slept == [1.0, 2.0, 20.0, 40.0]
    await one.worker.work_off()
    assert len(one.queue.kept) == 3


async def test_working_off_waits_a_minute_that_a_busy_model_asks_for_some_times() -> None:
    one = bench(3, Model("m", down=ModelBusy("busy", seconds=60.0, remedy="wait")))
    with pytest.raises(ModelBusy, match="busy"):
        await one.worker.work_off()
    assert one.time.slept == [60.0] * 6


async def test_working_off_ends_at_trouble_and_does_not_wait_for_what_failed() -> None:
    one = bench(3, Model("m", down=GONE))
    with pytest.raises(ModelUnavailable, match="gone"):
        await one.worker.work_off()
    one = bench(3, Model("m", poison={"text 1": ValueError()}))
    one.queue.delays = True
    await one.worker.work_off()
    assert len(one.queue.kept) == 2
    assert one.queue.waits == []
