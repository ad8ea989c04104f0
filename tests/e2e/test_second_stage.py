"""The second stage from its setting to the order of the hits, with a real ONNX model."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from tests.adapters.models.rerankers.pair_models import summing_model, write_tokenizer

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Draft
from recollect.core.recall.request import RecallRequest
from recollect.settings import load
from recollect.usecases.service import LocalService
from recollect.wiring.local import open_service
from recollect.wiring.server import open_server

pytestmark = pytest.mark.anyio


async def test_the_named_model_decides_the_order(database_url: str, tmp_path: Path) -> None:
    onnx.save(summing_model(), str(tmp_path / "model.onnx"))
    write_tokenizer(tmp_path)
    settings = load(
        database_url=database_url,
        home=tmp_path / "home",
        embedder="none",
        reranker=f"folder:{tmp_path}",
    )
    async with open_server(settings) as server:
        recollect = LocalService(server.context, "ana")
        # By words alone the first is the better hit: it is shorter.
        await recollect.remember(Draft("deploy"))
        await recollect.remember(Draft("deploy staging database friday"))
        await recollect.change_settings({"second_stage": "cross-encoder"})
        assert server.context.reranker is not None
        await server.context.reranker.scores("deploy", ["deploy"])  # reads its files
        answer = await recollect.recall(RecallRequest("deploy"))
    assert answer.rerank is not None
    assert answer.rerank.status == "ran"
    places = [(hit.memory.content, hit.rerank) for hit in answer.hits]
    assert [content for content, _ in places] == ["deploy staging database friday", "deploy"]
    # The model adds up the token ids of the text: deploy 3, staging 5, database 6, friday 7,
    # and the closing mark 2.
    assert [place and (place.score, place.former_place) for _, place in places] == [
        (3 + 5 + 6 + 7 + 2, 2),
        (3 + 2, 1),
    ]


async def test_a_local_store_has_the_second_stage_too(tmp_path: Path) -> None:
    onnx.save(summing_model(), str(tmp_path / "model.onnx"))
    write_tokenizer(tmp_path)
    settings = load(home=tmp_path / "home", reranker=f"folder:{tmp_path}")
    async with open_service(settings) as recollect:
        await recollect.remember(Draft("deploy"))
        await recollect.remember(Draft("deploy staging database friday"))
        await recollect.change_settings({"second_stage": "cross-encoder"})
        answer = await recollect.recall(RecallRequest("deploy"))
    assert answer.rerank is not None
    assert (answer.rerank.status, answer.rerank.reranked) == ("ran", 2)
    assert answer.hits[0].memory.content == "deploy staging database friday"


async def test_a_name_that_means_no_reranker_is_refused(database_url: str, tmp_path: Path) -> None:
    settings = load(database_url=database_url, home=tmp_path, embedder="none", reranker="bge")
    with pytest.raises(InvalidInput, match="RECOLLECT_RERANKER"):
        async with open_server(settings):
            pass
