"""Reading the formats in which models are published."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import onnx
import pytest
import tokenizers
from onnx import TensorProto, helper, numpy_helper
from tests.adapters.models.embedders.local_tiny import (
    TINY_BERT,
    hmsemb,
    random_weights,
    tokenizer_json,
)

from recollect.adapters.models.embedders.onnx_encoder import read_use_weights
from recollect.adapters.models.embedders.sentencepiece import tokenizer_from_sentencepiece
from recollect.adapters.models.embedders.weight_formats import read_graph_weights, read_pack


def test_a_pack_contains_berts_weights_and_the_tokenizer(tmp_path: Path) -> None:
    weights, tokenizer = random_weights(TINY_BERT, seed=4), tokenizer_json()
    (tmp_path / "tiny.hmsemb").write_bytes(hmsemb(weights, tokenizer))
    read, found = read_pack(tmp_path / "tiny.hmsemb")
    assert found == tokenizer
    assert set(read) == set(weights)
    for name, tensor in weights.items():
        step = np.abs(tensor).max() / 127
        np.testing.assert_allclose(read[name], tensor, rtol=0, atol=step / 2 + 1e-6, err_msg=name)
        if tensor.ndim == 1:
            assert (read[name] == tensor).all()


def test_a_pack_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    whole = hmsemb(random_weights(TINY_BERT, seed=4), b"{}")
    for name, content in {
        "other": b"SOMETHNG" + whole[8:],
        "short": whole[:-4],
        "long": whole + b"x",
        "unknown numbers": whole.replace(b'"f32"', b'"f64"', 1),
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=name):
            read_pack(tmp_path / name)


def test_an_exported_graph_gives_its_weights_back(tmp_path: Path) -> None:
    weights = random_weights(TINY_BERT, seed=5)
    nodes, tensors = [], []
    for number, (name, value) in enumerate(weights.items()):
        if value.ndim == 2 and name.startswith("encoder."):
            own = f"onnx::MatMul_{number}"
            path = "/" + name.removesuffix(".weight").replace("layer.", "layer:").replace(".", "/")
            node = path.replace(":", ".") + "/MatMul"
            nodes.append(helper.make_node("MatMul", ["x", own], [f"y{number}"], name=node))
            tensors.append(numpy_helper.from_array(np.ascontiguousarray(value.T), own))
        else:
            tensors.append(numpy_helper.from_array(value, name))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32])
    model = helper.make_model(helper.make_graph(nodes, "exported", [x], [], tensors))
    onnx.save(model, tmp_path / "model.onnx")
    read = read_graph_weights(tmp_path / "model.onnx")
    assert set(read) == set(weights)
    assert all((read[name] == value).all() for name, value in weights.items())


def message(*fields: tuple[int, bytes]) -> bytes:
    parts = [bytes([number << 3 | 2]) + varint(len(value)) + value for number, value in fields]
    return b"".join(parts)


def varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def piece(text: str, score: float) -> bytes:
    return message((1, text.encode())) + bytes([2 << 3 | 5]) + struct.pack("<f", score)


def sentencepiece_model(*, table: bytes) -> bytes:
    words = {"<unk>": 0.0, "<s>": 0.0, "</s>": 0.0, "▁": -5.0, "▁cat": -1.0, "s": -2.0, "▁c": -3.0}
    pieces = [(1, piece(text, score)) for text, score in words.items()]
    counted = bytes([1 << 3]) + varint(200)  # a varint, which the reader skips
    return message(*pieces, (2, counted), (3, message((1, b"nfkc"), (2, table))))


def test_a_sentencepiece_model_becomes_a_tokenizer() -> None:
    # The smallest normalization table: a trie whose root has no children, and no replacements.
    table = struct.pack("<I", 1024) + bytes(1024) + b"\0"
    data = tokenizer_from_sentencepiece(sentencepiece_model(table=table))
    tokenizer = tokenizers.Tokenizer.from_str(data.decode())
    encoding = tokenizer.encode("  cats   cat ")
    assert encoding.tokens == ["<s>", "▁cat", "s", "▁cat", "</s>"]
    assert encoding.ids == [1, 4, 5, 4, 2]
    assert tokenizer.encode("dogs").ids == [1, 3, 0, 5, 2]


@pytest.mark.parametrize("cut", [1, 7])
def test_a_cut_sentencepiece_model_is_refused(cut: int) -> None:
    with pytest.raises((ValueError, IndexError)):
        tokenizer_from_sentencepiece(sentencepiece_model(table=b"")[:-cut])


def test_arrays_that_could_run_code_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    np.savez(path, scale=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_use_weights(path)
