"""The reranker's thread: runs end when no caller waits, and a model is loaded once."""

from __future__ import annotations

import asyncio
import threading

import pytest

from recollect.adapters.models.rerankers.cross_encoder import CrossEncoder, PairModel, Stop
from recollect.core.errors import ModelUnavailable

pytestmark = pytest.mark.anyio


class Gated:
    """A model that waits at a gate before each score and records the texts it was given."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.reached = threading.Event()
        self.read: list[str] = []

    def score(self, query: str, text: str, stop: Stop) -> float:
        self.read.append(text)
        self.reached.set()
        self.gate.wait()
        return float(len(text))


async def test_a_cancelled_run_reads_no_further_pair() -> None:
    model = Gated()

    async with CrossEncoder(lambda: model) as reranker:
        asked = asyncio.create_task(reranker.scores("q", ["one", "two", "three"]))
        await asyncio.to_thread(model.reached.wait)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        model.gate.set()
    assert model.read == ["one"]


async def test_a_run_cancelled_while_it_waits_its_turn_never_starts() -> None:
    model = Gated()

    async def run() -> list[float]:
        async with CrossEncoder(lambda: model) as reranker:
            first = asyncio.create_task(reranker.scores("q", ["one"]))
            await asyncio.to_thread(model.reached.wait)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await reranker.scores("q", ["late"])
            model.gate.set()
            return await first

    assert await run() == [3.0]
    assert model.read == ["one"]


async def test_closing_the_reranker_ends_a_run_with_an_error() -> None:
    model = Gated()

    async with CrossEncoder(lambda: model) as reranker:
        asked = asyncio.create_task(reranker.scores("q", ["one", "two"]))
        await asyncio.to_thread(model.reached.wait)
        asyncio.get_running_loop().call_later(0.01, model.gate.set)
    with pytest.raises(ModelUnavailable, match="closed"):
        await asked
    assert model.read == ["one"]


async def test_the_model_is_loaded_once_and_only_when_needed() -> None:
    loads = 0

    def load() -> PairModel:
        nonlocal loads
        loads += 1
        model = Gated()
        model.gate.set()
        return model

    async with CrossEncoder(load) as reranker:
        assert loads == 0
        assert await reranker.scores("q", ["a", "bb"]) == [1.0, 2.0]
        assert await reranker.scores("q", ["ccc"]) == [3.0]
    assert loads == 1


async def test_a_model_that_could_not_be_had_is_tried_again_a_minute_later() -> None:
    clock = [1000.0]
    loads = 0

    def load() -> PairModel:
        nonlocal loads
        loads += 1
        raise ModelUnavailable("no model", remedy="fetch it")

    async with CrossEncoder(load, now=lambda: clock[0]) as reranker:
        for moment, expected in ((1000.0, 1), (1059.0, 1), (1060.0, 2)):
            clock[0] = moment
            with pytest.raises(ModelUnavailable, match="no model") as caught:
                await reranker.scores("q", ["a"])
            assert caught.value.remedy == "fetch it"
            assert loads == expected


def test_an_interrupt_asked_for_late_comes_at_once() -> None:
    stop = Stop()
    stop.request()
    interrupted: list[str] = []
    stop.then(lambda: interrupted.append("now"))
    assert interrupted == ["now"]
