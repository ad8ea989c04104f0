"""One batch, over a queue and models in memory: which text is blamed, and what is never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import inf, nan
from uuid import UUID

import pytest
from tests.usecases.benches import GONE, bench, open_space
from tests.usecases.queues import MAX_ATTEMPTS, Model

from recollect.core.errors import ModelBusy, ModelSlow, ModelUnavailable
from recollect.core.recall.space import Space
from recollect.core.text.passages import cut_passages
from recollect.usecases.workers.embed import BATCH, Budget, Embedded, embed_batch

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("place", [0, 1, BATCH // 2, BATCH - 1])
@pytest.mark.parametrize("error", [GONE, ValueError("quotes the text")])
async def test_one_poisoned_text_is_alone_in_failing(place: int, error: Exception) -> None:
    model = Model("m", poison={f"text {place}": error})
    one = bench(BATCH, model)

    space = await open_space(one, model)
    done = await embed_batch(one.context, space, known_to_work=False)
    assert done == Embedded(space, BATCH - 1, (UUID(int=place),))
    progress = await one.queue.progress(space)
    assert (progress.embedded, progress.waiting) == (BATCH - 1, 1)
    assert progress.last_error == ("the model is gone" if error is GONE else "ValueError")
    for _ in range(MAX_ATTEMPTS - 1):
        assert await embed_batch(one.context, space, known_to_work=True)
    assert (await one.queue.progress(space)).parked == 1
    assert await embed_batch(one.context, space, known_to_work=True) is None


@pytest.mark.parametrize("vector", [[0.0, 0.0], [nan, 1.0], [inf, 1.0]])
async def test_a_text_whose_vector_has_no_direction_is_alone_in_failing(
    vector: list[float],
) -> None:
    class Pointless(Model):
        async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            vectors = await super().embed_documents(texts)
            return [
                vector if text == "text 3" else one
                for text, one in zip(texts, vectors, strict=True)
            ]

    model = Pointless("m")
    one = bench(5, model)

    space = await open_space(one, model)
    done = await embed_batch(one.context, space, known_to_work=True)
    assert done == Embedded(space, 4, (UUID(int=3),))
    assert "no direction" in str((await one.queue.progress(space)).last_error)


async def test_a_vector_that_the_store_refuses_keeps_no_other_out() -> None:
    model = Model("m")
    one = bench(5, model)
    one.queue.refuses = {UUID(int=3)}

    space = await open_space(one, model)
    done = await embed_batch(one.context, space, known_to_work=True)
    assert done == Embedded(space, 4, (UUID(int=3),))
    assert (await one.queue.progress(space)).last_error == "refused"


async def test_a_model_that_goes_down_in_the_middle_of_a_batch_loses_nothing() -> None:
    """The first half has its vectors when the model dies; the rest is given back untried."""
    model = Model("m", poison={"text 7": ValueError()}, is_hosted=True)
    one = bench(8, model)

    def die(texts: object) -> None:
        if texts == ["text 4", "text 5"]:
            model.down = GONE

    model.on_texts = die

    space = await open_space(one, model)
    with pytest.raises(ModelUnavailable):
        await embed_batch(one.context, space, known_to_work=True)
    progress = await one.queue.progress(space)
    assert (progress.embedded, progress.waiting) == (6, 2)
    assert {id.int for (_, id), row in one.queue.rows.items() if row.attempts} == set()
    assert not any(row.claimed for row in one.queue.rows.values())


@pytest.mark.parametrize("hosted", [False, True])
async def test_vectors_of_a_wrong_dimension_are_refused(hosted: bool) -> None:
    model = Model("m", answers=3, is_hosted=hosted)
    one = bench(2, model)

    space = await open_space(one, model)
    with pytest.raises(ModelUnavailable, match="dimension"):
        await embed_batch(one.context, space, known_to_work=False)
    assert one.queue.kept == []
    assert not any(row.attempts or row.claimed for row in one.queue.rows.values())


async def test_a_model_that_changed_under_its_name_does_not_write_into_the_old_space() -> None:
    model = Model("m", dimension=3)
    one = bench(2, model)

    space = await one.queue.open_space("m", Space("m", "1", 2))
    with pytest.raises(ModelUnavailable, match="cannot be compared") as caught:
        await embed_batch(one.context, space, known_to_work=True)
    assert "recollect reembed --model m" in caught.value.remedy
    assert model.asked == []
    assert "cannot be compared" in str((await one.queue.progress(space)).last_error)


async def test_what_changes_between_two_requests_is_not_sent() -> None:
    model = Model("m", most=2)
    one = bench(6, model)

    def change_texts(texts: Sequence[str]) -> None:
        if "text 0" in texts:
            one.queue.texts[UUID(int=3)] = "another text"
            del one.queue.texts[UUID(int=4)], one.queue.texts[UUID(int=5)]

    model.on_texts = change_texts

    space = await open_space(one, model)
    assert await embed_batch(one.context, space, known_to_work=True) == Embedded(space, 3)
    assert model.asked == [["text 0", "text 1"], ["text 2"]]
    assert not any(row.claimed for row in one.queue.rows.values())
    assert await embed_batch(one.context, space, known_to_work=True) == Embedded(space, 1)
    assert model.asked[2:] == [["another text"]]


async def test_short_texts_go_first_and_a_budget_leaves_long_ones_to_others() -> None:
    model = Model("m", most=1)
    one = bench(0, model)
    one.queue.texts = {UUID(int=1): LONG, UUID(int=2): "short", UUID(int=3): "as it is"}
    space = await open_space(one, model)
    budget = Budget(max_bytes=100)
    done = await embed_batch(one.context, space, known_to_work=True, budget=budget)
    assert done == Embedded(space, 2)
    assert model.asked == [["short"], ["as it is"]]
    assert await embed_batch(one.context, space, known_to_work=True, budget=budget) is None
    assert await embed_batch(one.context, space, known_to_work=True) == Embedded(space, 1)
    assert one.queue.kept[-1] == (space.id, UUID(int=1))


async def test_what_is_done_is_kept_when_a_batch_is_cancelled() -> None:
    class Stopping(Model):
        async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            if texts != ["short"]:
                batch.cancel()
                await asyncio.sleep(1)
            return await super().embed_documents(texts)

    model = Stopping("m", most=1)
    one = bench(0, model)
    one.queue.texts = {UUID(int=1): LONG, UUID(int=2): "short"}
    space = await open_space(one, model)
    batch = asyncio.create_task(embed_batch(one.context, space, known_to_work=True))
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert one.queue.kept == [(space.id, UUID(int=2))]
    assert not any(row.claimed or row.attempts for row in one.queue.rows.values())


async def test_a_long_text_is_kept_before_the_next_is_done() -> None:
    model = Model("m", most=BATCH)
    one = bench(0, model)
    longer = LONG * (1 + BATCH // len(cut_passages(LONG, model.space.window)))
    one.queue.texts = {UUID(int=1): longer, UUID(int=2): longer * 2}
    space = await open_space(one, model)
    kept: list[int] = []
    model.on_texts = lambda _: kept.append(len(one.queue.kept))
    assert await embed_batch(one.context, space, known_to_work=True) == Embedded(space, 2)
    assert kept[0] == 0
    assert kept[-1] == 1


async def test_what_cannot_be_begun_in_time_is_given_back() -> None:
    """Each text takes 10 s: the fourth would begin after 30."""

    class Slow(Model):
        async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            await asyncio.sleep(10.0 * len(texts))
            return await super().embed_documents(texts)

    model = Slow("m", most=1)
    one = bench(5, model)

    space = await open_space(one, model)
    assert await embed_batch(one.context, space, known_to_work=True) == Embedded(space, 3)
    assert not any(row.claimed or row.attempts for row in one.queue.rows.values())
    assert await embed_batch(one.context, space, known_to_work=True) == Embedded(space, 2)


async def test_a_slow_model_gets_past_a_bad_text_at_the_end_of_its_batch() -> None:
    """A second for each text, and each request as large as a local model takes on two cores."""

    class Slow(Model):
        async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            await asyncio.sleep(1.0 * len(texts))
            if "text 31" in texts:
                raise ValueError
            return await super().embed_documents(texts)

    model = Slow("m", most=4)
    one = bench(32, model)
    one.queue.delays = True

    await open_space(one, model)
    assert await one.worker.work_off() == 1
    assert len(one.queue.kept) == 31


@pytest.mark.parametrize(
    "error",
    [ModelBusy("busy", seconds=0.0, remedy="wait"), ModelSlow("slow", remedy="wait")],
    ids=["busy", "slow"],
)
async def test_a_model_that_is_busy_or_slow_is_asked_nothing_more(error: ModelUnavailable) -> None:
    model = Model("m", most=2, poison={"text 2": error})
    one = bench(6, model)

    space = await open_space(one, model)
    with pytest.raises(ModelUnavailable) as caught:
        await embed_batch(one.context, space, known_to_work=True)
    assert caught.value is error
    assert model.asked == [["text 0", "text 1"], ["text 2", "text 3"]]
    progress = await one.queue.progress(space)
    assert (progress.embedded, progress.waiting) == (2, 4)
    assert not any(row.claimed or row.attempts for row in one.queue.rows.values())


async def test_a_single_text_over_which_a_model_hangs_is_counted() -> None:
    """If the model meanwhile reads a plain word; otherwise the text would be retried for ever."""
    model = Model("m", most=1, poison={"text 1": ModelSlow("slow", remedy="wait")})
    one = bench(3, model)

    space = await open_space(one, model)
    done = await embed_batch(one.context, space, known_to_work=True)
    assert done == Embedded(space, 2, (UUID(int=1),))


LONG = "The ferry to Marblehead leaves at nine on Tuesdays. " * 200


async def test_a_long_text_is_embedded_passage_by_passage() -> None:
    model = Model("m", most=4)
    one = bench(0, model)
    queue = one.queue
    queue.texts = {UUID(int=1): LONG, UUID(int=2): "short"}
    space = await open_space(one, model)
    done = await embed_batch(one.context, space, known_to_work=True)
    assert done is not None
    assert done.kept == 2
    parts = queue.passages[UUID(int=1)]
    assert parts[0].span.start == 0
    assert parts[-1].span.end == len(LONG)
    sent = [text for texts in model.asked for text in texts]
    assert sent == ["short", *(LONG[slice(*part.span)] for part in parts)]
    assert max(map(len, model.asked)) <= 4
    assert UUID(int=2) not in queue.passages


async def test_a_passage_that_fails_fails_its_text_alone() -> None:
    text = f"{LONG}Poison."
    model = Model("m")
    last = cut_passages(text, model.space.window)[-1]
    model.poison = {text[slice(*last)]: ValueError("unreadable")}
    one = bench(0, model)
    queue = one.queue
    queue.texts = {UUID(int=1): text, UUID(int=2): "short"}
    space = await open_space(one, model)
    done = await embed_batch(one.context, space, known_to_work=True)
    assert done is not None
    assert (done.kept, done.failed) == (1, (UUID(int=1),))
    assert not queue.passages


async def test_many_long_texts_are_shared_out_between_batches() -> None:
    model = Model("m")
    one = bench(0, model)
    queue = one.queue
    queue.texts = {UUID(int=number): LONG * 10 for number in range(10)}
    space = await open_space(one, model)
    batches = 0
    while await embed_batch(one.context, space, known_to_work=True):
        batches += 1
    assert batches > 1
    assert len(queue.passages) == 10
