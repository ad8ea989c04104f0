"""A hub's model through the real fastembed, from a cache laid out as a hub's download leaves it. No
hub can be reached where these tests run, so the weights are our own, and add up tokens. Where the
model or fastembed is missing, recall reports what to do.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from onnx import save
from tests.adapters.models.rerankers.pair_models import ID, summing_model, write_tokenizer

from recollect.adapters.models.rerankers.cross_encoder import hub_reranker
from recollect.core.errors import ModelUnavailable

pytestmark = pytest.mark.anyio

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
