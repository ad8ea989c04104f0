"""Cross-encoders from a folder, with models whose answers can be computed by hand."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from tests.adapters.models.rerankers.pair_models import (
    ID,
    PAIR,
    slow_model,
    summing_model,
    write_folder,
    write_tokenizer,
)

from recollect.adapters.models.rerankers.cross_encoder import folder_reranker
from recollect.core.errors import ModelUnavailable

pytestmark = pytest.mark.anyio

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
