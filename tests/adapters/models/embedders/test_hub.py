"""A hub's model through the real fastembed, from a cache laid out as a hub's download leaves it. No
hub can be reached where these tests run, so the weights are our own, and count words.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save
from tests.waiting import UNHURRIED
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from recollect.adapters.models.embedders.hub import BGE_QUERY_INSTRUCTION, hub_embedder
from recollect.core.errors import InvalidInput, ModelUnavailable

pytestmark = pytest.mark.anyio

BGE = "BAAI/bge-small-en-v1.5"
DIMENSION = 384
WORDS = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "Represent", "deploy", "tuesday")
ID = {word: place for place, word in enumerate(WORDS)}


def _write_model(file: Path) -> None:
    """Write a model whose vector holds at place n how often token n occurs, with CLS and SEP."""
    nodes = [
        helper.make_node("OneHot", ["input_ids", "depth", "values"], ["tokens"]),
        helper.make_node("ReduceSum", ["tokens", "axis"], ["last_hidden_state"], keepdims=1),
    ]
    names = ["input_ids", "attention_mask", "token_type_ids"]
    graph = helper.make_graph(
        nodes,
        "counting",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in names],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, None)],
        [
            helper.make_tensor("depth", TensorProto.INT64, [], [DIMENSION]),
            helper.make_tensor("values", TensorProto.FLOAT, [2], [0.0, 1.0]),
            helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
        ],
    )
    opset = [helper.make_opsetid("", 17)]
    save(helper.make_model(graph, opset_imports=opset, ir_version=9), str(file))


@pytest.fixture
def downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A models folder in which fastembed finds the model without asking a hub."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    repository = tmp_path / "hub" / "models--Qdrant--bge-small-en-v1.5-onnx-Q"
    snapshot = repository / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123abc")
    _write_model(snapshot / "model_optimized.onnx")
    tokenizer = Tokenizer(models.WordLevel(ID, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(word, ID[word]) for word in ("[CLS]", "[SEP]")]
    )
    tokenizer.save(str(snapshot / "tokenizer.json"))
    special = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    files = {
        "config.json": {"pad_token_id": ID["[PAD]"]},
        "tokenizer_config.json": {"model_max_length": 512, "pad_token": "[PAD]"},
        "special_tokens_map.json": {**special, "pad_token": "[PAD]"},
    }
    for name, content in files.items():
        (snapshot / name).write_text(json.dumps(content))
    return tmp_path


async def test_a_hub_model_embeds_and_only_queries_carry_the_instruction(downloaded: Path) -> None:
    async with hub_embedder(BGE, downloaded, timeouts=UNHURRIED) as embedder:
        document, other = await embedder.embed_documents(["deploy", "tuesday tuesday"])
        query = await embedder.embed_query("deploy")
    assert (embedder.space.model, embedder.space.dimension) == (BGE, DIMENSION)
    assert embedder.space.query_instruction == BGE_QUERY_INSTRUCTION
    assert np.linalg.norm([document, other, query], axis=1) == pytest.approx([1, 1, 1])
    assert document[ID["deploy"]] == document[ID["[CLS]"]] > 0.0
    assert other[ID["tuesday"]] == pytest.approx(2 * other[ID["[CLS]"]])
    assert (document[ID["Represent"]], other[ID["Represent"]]) == (0.0, 0.0)
    assert query[ID["Represent"]] == query[ID["deploy"]] > 0.0


async def test_a_model_that_is_not_here_and_cannot_be_fetched_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    async with hub_embedder("BAAI/bge-large-en-v1.5", tmp_path) as embedder:
        assert embedder.space.dimension == 1024
        with pytest.raises(ModelUnavailable, match="bge-large-en-v1") as caught:
            await embedder.embed_documents(["deploy"])
        assert "model.onnx" in caught.value.remedy


def test_a_name_that_no_hub_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nobody/nothing"):
        hub_embedder("nobody/nothing", tmp_path)
