"""The reranker's thread: runs end when no caller waits, and a model is loaded once."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path

import pytest
from onnx import save
from tests.adapters.models.rerankers.pair_models import (
    ID,
    PAIR,
    slow_model,
    summing_model,
    write_folder,
    write_tokenizer,
)

from recollect.adapters.models.rerankers.cross_encoder import (
    CrossEncoder,
    PairModel,
    Stop,
    folder_reranker,
    hub_reranker,
)
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


QUERY = "deploy tuesday"
SEP = ID["[SEP]"]


async def scores(folder: Path, query: str, texts: list[str], max_tokens: int = 512) -> list[float]:
    async with folder_reranker(folder, max_tokens=max_tokens) as reranker:
        return await reranker.scores(query, texts)


async def test_each_text_gets_its_own_score_in_order(tmp_path: Path) -> None:
    write_folder(tmp_path, summing_model())
    texts = ["staging database", "deploy", "friday friday friday", ""]
    assert await scores(tmp_path, QUERY, texts) == [
        ID["staging"] + ID["database"] + SEP,
        ID["deploy"] + SEP,
        3 * ID["friday"] + SEP,
        SEP,
    ]


async def test_a_score_does_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    write_folder(tmp_path, summing_model())
    texts = ["staging", "database friday friday", "tuesday"]
    alone = [(await scores(tmp_path, QUERY, [text]))[0] for text in texts]
    assert await scores(tmp_path, QUERY, texts) == alone


async def test_a_model_without_token_types_is_fed_without_them(tmp_path: Path) -> None:
    write_folder(tmp_path, summing_model(inputs=["input_ids"]))
    whole = ID["[CLS]"] + ID["deploy"] + SEP + ID["friday"] + SEP
    assert await scores(tmp_path, "deploy", ["friday"]) == [whole]


async def test_of_two_outputs_the_second_says_that_it_fits(tmp_path: Path) -> None:
    write_folder(tmp_path, summing_model(scores=2))
    total = ID["friday"] + SEP
    assert await scores(tmp_path, QUERY, ["friday"]) == [2 * total - 1 * total]


async def test_the_longer_side_is_cut_to_the_models_length(tmp_path: Path) -> None:
    write_folder(tmp_path, summing_model())
    # Of 8 tokens 3 are markers and 1 is the query: 4 are left for the text.
    assert await scores(tmp_path, "deploy", ["friday " * 500], max_tokens=8) == [
        4 * ID["friday"] + SEP
    ]


@pytest.mark.parametrize("text", ["", "\x00", "half a pair \ud800", "🦊" * 500, "word " * 100_000])
async def test_any_text_can_be_scored(tmp_path: Path, text: str) -> None:
    write_folder(tmp_path, summing_model())
    assert len(await scores(tmp_path, text, [text, text])) == 2


async def test_no_text_needs_no_model(tmp_path: Path) -> None:
    assert await scores(tmp_path / "nowhere", QUERY, []) == []


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"no tokenizer\.json"):
        await scores(tmp_path, QUERY, ["friday"])
    write_tokenizer(tmp_path)
    with pytest.raises(ModelUnavailable, match=r"no model\.onnx"):
        await scores(tmp_path, QUERY, ["friday"])


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
async def test_a_corrupt_file_is_named(tmp_path: Path, name: str) -> None:
    write_folder(tmp_path, summing_model())
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ModelUnavailable, match="could not be read") as caught:
        await scores(tmp_path, QUERY, ["friday"])
    assert name in str(caught.value)
    assert caught.value.remedy


async def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path, summing_model(inputs=[*PAIR, "pixel_values"]))
    with pytest.raises(ModelUnavailable, match="pixel_values"):
        await scores(tmp_path, QUERY, ["friday"])


async def test_more_than_two_outputs_are_no_score(tmp_path: Path) -> None:
    write_folder(tmp_path, summing_model(scores=3))
    with pytest.raises(ModelUnavailable, match="one score"):
        await scores(tmp_path, QUERY, ["friday"])


async def test_a_run_past_its_time_is_interrupted_inside_a_pair(tmp_path: Path) -> None:
    """The model would take an hour or so; leaving the block waits for its thread to end."""
    write_folder(tmp_path, slow_model(rounds=100_000_000))

    reranker = folder_reranker(tmp_path)
    async with reranker:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await reranker.scores(QUERY, ["friday"])
        async with asyncio.timeout(180):
            await reranker.__aexit__(None, None, None)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("rerank")]


NAME = "Xenova/ms-marco-MiniLM-L-6-v2"


@pytest.fixture
def downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A models folder in which fastembed finds the model without asking a hub."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    repository = tmp_path / "models--Xenova--ms-marco-MiniLM-L-6-v2"
    snapshot = repository / "snapshots" / "0123abc"
    (snapshot / "onnx").mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123abc")
    save(summing_model(), str(snapshot / "onnx" / "model.onnx"))
    write_tokenizer(snapshot)
    special = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    files = {
        "config.json": {"pad_token_id": ID["[UNK]"]},
        "tokenizer_config.json": {"model_max_length": 512, "pad_token": "[UNK]"},
        "special_tokens_map.json": special,
    }
    for name, content in files.items():
        (snapshot / name).write_text(json.dumps(content))
    return tmp_path


async def test_a_hub_model_judges_each_text_by_itself(downloaded: Path) -> None:
    async with hub_reranker(NAME, cache=downloaded) as reranker:
        texts = ["tuesday", "staging database", "deploy"]
        scores = await reranker.scores("deploy friday", texts)
        assert await reranker.scores("deploy", ["staging database"]) == scores[1:2]
    # The text's tokens and the separator after it; nothing of the query.
    assert scores == [
        ID["tuesday"] + ID["[SEP]"],
        ID["staging"] + ID["database"] + ID["[SEP]"],
        ID["deploy"] + ID["[SEP]"],
    ]
    assert not reranker.is_hosted


async def test_a_model_that_is_not_here_and_cannot_be_fetched_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    async with hub_reranker(NAME, cache=tmp_path) as reranker:
        with pytest.raises(ModelUnavailable, match=f"{NAME} could not be downloaded") as caught:
            await reranker.scores("query", ["text"])
        assert "model.onnx" in caught.value.remedy


async def test_without_fastembed_the_remedy_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None here is Python's own way to mark a module as not importable.
    for module in ("fastembed", "fastembed.rerank.cross_encoder"):
        monkeypatch.setitem(sys.modules, module, None)

    async with hub_reranker(NAME, cache=tmp_path) as reranker:
        with pytest.raises(ModelUnavailable, match=NAME) as caught:
            await reranker.scores("query", ["text"])
        assert "pip install fastembed" in caught.value.remedy
