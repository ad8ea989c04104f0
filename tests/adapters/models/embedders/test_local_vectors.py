"""The built models against an independent reference, and what every vector must satisfy."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # it ships no types
import pytest
import tokenizers
from tests.adapters.models.embedders.local_reference import (
    ReferenceEncoder,
    UseReference,
    bucket,
)
from tests.adapters.models.embedders.local_tiny import (
    HEADS,
    TINY_BERT,
    TINY_MPNET,
    TINY_ROBERTA,
    random_use_weights,
    random_weights,
)
from tests.waiting import UNHURRIED

from recollect.adapters.models.embedders.local import local_embedder
from recollect.adapters.models.embedders.local_cache import model_folder
from recollect.adapters.models.embedders.local_models import BERT, MINILM, Architecture, Pooling
from recollect.adapters.models.embedders.local_runtime import Encoder, Reading
from recollect.adapters.models.embedders.onnx_encoder import (
    Precision,
    build_encoder,
    build_use_encoder,
    distance_buckets,
)
from recollect.adapters.models.embedders.weight_formats import read_weights

pytestmark = pytest.mark.anyio

TEXTS = {
    "a sentence": "The staging database is read-only on Fridays.",
    "one word": "Fridays",
    "empty": "",
    "blank": " \n\t ",
    "emoji": "🦊🚀 deploy went fine 👍🏽",
    "right to left": "‮قاعدة البيانات للقراءة فقط يوم الجمعة",
    "other scripts": "データベースは金曜日に読み取り専用です",
    "NUL and half a pair": "a\x00b \ud800 c",
    "code": "def f(x): return {'a': [x ** 2 for _ in range(10)]}",
    "10,000 words": "every good memory makes sense alone " * 1667,
    "one long word": "x" * 50_000,
}


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return float(a @ b / math.sqrt((a @ a) * (b @ b)))


@pytest.fixture(scope="session")
def reference(published: Path) -> dict[str, Sequence[float]]:
    """Each text's vector as the reference computes it."""
    encoder = ReferenceEncoder(read_weights(published / "model.safetensors"), 12, BERT.epsilon)
    tokenizer = tokenizers.Tokenizer.from_file(str(published / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    return {
        name: encoder.encode(tokenizer.encode(text.replace("\ud800", "?")).ids).tolist()
        for name, text in TEXTS.items()
    }


@pytest.fixture(scope="session")
def fp32(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = tmp_path_factory.mktemp("fp32")
    weights = read_weights(published / "model.safetensors")
    target = folder / "model.onnx"
    build_encoder(weights, BERT, max_tokens=256, precision="fp32", target=target)
    shutil.copy(published / "tokenizer.json", folder)
    return Encoder(folder, Reading(256))


@pytest.fixture(scope="session")
def int8(models_folder: Path) -> Encoder:
    return Encoder(model_folder(MINILM, models_folder), Reading(256))


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_fp32_agrees_with_the_reference(
    fp32: Encoder, reference: dict[str, Sequence[float]], name: str
) -> None:
    assert cosine(fp32.encode(TEXTS[name]), reference[name]) >= 0.9999


@pytest.mark.parametrize("name", TEXTS)
def test_int8_agrees_with_the_reference(
    int8: Encoder, reference: dict[str, Sequence[float]], name: str
) -> None:
    vector = int8.encode(TEXTS[name])
    assert cosine(vector, reference[name]) >= 0.98
    assert sum(number**2 for number in vector) == pytest.approx(1, abs=1e-5)


async def test_a_vector_depends_neither_on_its_neighbours_nor_on_the_occasion(
    models_folder: Path,
) -> None:
    texts = list(TEXTS.values())

    async with local_embedder(models_folder, timeouts=UNHURRIED) as embedder:
        together = await embedder.embed_documents(texts)
        assert await embedder.embed_documents(texts[::-1]) == together[::-1]
        assert [await embedder.embed_query(text) for text in texts] == together


def test_padding_does_not_move_a_vector_of_the_int8_graph(models_folder: Path) -> None:
    folder = model_folder(MINILM, models_folder)
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", providers=["CPUExecutionProvider"]
    )
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    batch = tokenizer.encode_batch([text.replace("\ud800", "?") for text in TEXTS.values()])
    ids = np.array([entry.ids for entry in batch])
    mask = np.array([entry.attention_mask for entry in batch])
    (together,) = session.run(["sentence_embedding"], {"input_ids": ids, "attention_mask": mask})
    for row, length in enumerate(mask.sum(axis=1)):
        one = slice(row, row + 1)
        feed = {"input_ids": ids[one, :length], "attention_mask": mask[one, :length]}
        (alone,) = session.run(["sentence_embedding"], feed)
        # What remains is the order of additions in the attention, not the scale of a neighbour.
        assert cosine(together[row], alone[0]) >= 0.9999


async def test_a_paraphrase_is_nearer_than_an_unrelated_sentence(models_folder: Path) -> None:
    async with local_embedder(models_folder, timeouts=UNHURRIED) as embedder:
        query = await embedder.embed_query("How do I get my money back?")
        near, far = await embedder.embed_documents(
            ["Refunds are paid within thirty days of purchase.", "The cat sleeps all day."]
        )
    assert cosine(query, near) > cosine(query, far) + 0.2


def test_the_text_beyond_256_tokens_has_no_effect(int8: Encoder) -> None:
    start = "every good memory makes sense alone " * 50
    assert int8.encode(start + "cats") == int8.encode(start + "dogs")
    assert int8.encode("cats " + start) != int8.encode("dogs " + start)


PRECISIONS = pytest.mark.parametrize(("precision", "least"), [("fp32", 0.999999), ("int8", 0.98)])


def check_against(
    reference: ReferenceEncoder | UseReference, graph: Path, least: float, tokens: int
) -> None:
    """Compare vectors and token states on texts of several lengths, with and without padding."""
    options = onnxruntime.SessionOptions()
    # As the product does where sums of 8-bit products can overflow: x86 before VNNI.
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(3)
    for length in (1, 2, 9, 40, 200):  # 200 reaches every distance bucket
        ids = random.integers(0, tokens, (1, length))
        padded = np.pad(ids, ((0, 0), (0, 200 - length)))
        mask = np.pad(np.ones_like(ids), ((0, 0), (0, 200 - length)))
        expected = reference.encode(ids[0].tolist()).tolist()
        expected_states = reference.states(ids[0].tolist())
        for feed in (ids, np.ones_like(ids)), (padded, mask):
            names = dict(zip(("input_ids", "attention_mask"), feed, strict=True))
            vector, states = session.run(["sentence_embedding", "last_hidden_state"], names)
            assert cosine(vector[0], expected) >= least
            for state, one in zip(states[0, :length], expected_states, strict=True):
                assert cosine(state, one) >= least - 0.01


@PRECISIONS
@pytest.mark.parametrize(
    ("architecture", "pooling"),
    [(TINY_BERT, "mean"), (TINY_ROBERTA, "cls"), (TINY_MPNET, "mean")],
    ids=["bert", "roberta", "mpnet"],
)
def test_every_network_agrees_with_the_reference_on_random_weights(
    tmp_path: Path,
    architecture: Architecture,
    pooling: Pooling,
    precision: Precision,
    least: float,
) -> None:
    weights = random_weights(architecture, seed=7)
    target = tmp_path / "model.onnx"
    build_encoder(
        weights,
        architecture,
        max_tokens=200,
        precision=precision,
        target=target,
        pooling=pooling,
    )
    reference = ReferenceEncoder(
        weights,
        HEADS,
        architecture.epsilon,
        first_position=architecture.first_position,
        pooling=pooling,
    )
    check_against(reference, target, least, tokens=8)


@PRECISIONS
def test_the_sentence_encoder_agrees_with_the_reference_on_random_weights(
    tmp_path: Path, precision: Precision, least: float
) -> None:
    weights = random_use_weights(seed=7)
    build_use_encoder(weights, precision=precision, target=tmp_path / "model.onnx")
    check_against(UseReference(weights), tmp_path / "model.onnx", least, tokens=34)


def test_distances_fall_into_the_buckets_of_the_paper() -> None:
    expected = [bucket(distance) for distance in range(-383, 384)]
    assert distance_buckets(384, 32).tolist() == expected
    assert len(set(expected)) == 31  # a distance of 0 is never ahead
