"""Read the formats that weights are published in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

# safetensors: a length, a JSON index, and the raw numbers. Thirty lines here save a dependency.
# Every offset is checked before it is used: the file's hash was verified, but a clear error is
# better than a wrong vector.

Array = NDArray[np.float32]
Weights = Mapping[str, Array]


def read_weights(path: Path) -> dict[str, Array]:
    """Read the 32-bit tensors of the file by name, mapped from disk. Others are not weights."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    if data.size < 8:
        raise ValueError(f"{path} is too short to hold weights")
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    if start > data.size:
        raise ValueError(f"{path} ends within its own index")
    tensors = {}
    for name, entry in json.loads(data[8:start].tobytes()).items():
        if entry.get("dtype") != "F32":
            continue
        first, last = (start + offset for offset in entry["data_offsets"])
        shape = entry["shape"]
        if not start <= first <= last <= data.size or last - first != 4 * int(np.prod(shape)):
            raise ValueError(f"{path} places {name} where it cannot be")
        tensors[name] = data[first:last].view("<f4").reshape(shape)
    return tensors


# Weights of an exported ONNX graph. Exporters preserve the names of biases and norms. A matrix is
# transposed and loses its name, which is restored from the node that multiplies by it:
# `/encoder/layer.0/output/dense/MatMul`.


def read_graph_weights(path: Path) -> dict[str, Array]:
    """Read the graph's 32-bit tensors under the names that they had before the export."""
    graph = onnx.load(path, load_external_data=False).graph
    tensors = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT
    }
    for node in graph.node:
        if node.op_type == "MatMul" and (matrix := tensors.pop(node.input[1], None)) is not None:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            tensors[f"{name}.weight"] = matrix.T
    return {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()}


# An `.hmsemb` pack: eight bytes that identify the format, a JSON header with its length, the
# tokenizer, and the tensors in the header's order. An 8-bit tensor consists of its values, followed
# by one 32-bit scale for each group of consecutive values.

_MAGIC = b"HMSEMB01"
_EMBEDDINGS = {
    "word_emb": "embeddings.word_embeddings.weight",
    "pos_emb": "embeddings.position_embeddings.weight",
    "type_emb": "embeddings.token_type_embeddings.weight",
    "emb_ln.w": "embeddings.LayerNorm.weight",
    "emb_ln.b": "embeddings.LayerNorm.bias",
}
_PARTS = {
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "fln": "output.LayerNorm",
}
_KINDS = {"w": "weight", "b": "bias"}


def read_pack(path: Path) -> tuple[dict[str, Array], bytes]:
    """Read the tensors, under the names of BERT's weights, and the tokenizer."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    if data[:8].tobytes() != _MAGIC:
        raise ValueError(f"{path} is not an .hmsemb pack")
    at = 16 + int.from_bytes(data[8:16].tobytes(), "little")
    header = json.loads(data[16:at].tobytes())
    tokenizer = data[at : at + header["tokenizer_len"]].tobytes()
    at += header["tokenizer_len"]
    weights: dict[str, Array] = {}
    for entry in header["tensors"]:
        weights.update(
            _rename_tensor(entry["name"], _tensor(path, data[at : at + entry["len"]], entry))
        )
        at += entry["len"]
    if at != data.size:
        raise ValueError(f"{path} has {data.size} bytes, and its header describes {at}")
    return weights, tokenizer


def _tensor(path: Path, data: np.ndarray[Any, Any], entry: dict[str, Any]) -> Array:
    shape, group = entry["shape"], entry["group"]
    count = int(np.prod(shape))
    is_whole = entry["dtype"] == "i8"
    expected = count + 4 * (count // group) if is_whole else 4 * count
    if len(data) != expected or entry["dtype"] not in {"i8", "f32"}:
        raise ValueError(f"{path} describes {entry['name']} in a way that cannot be read")
    if not is_whole:
        return np.asarray(data.view("<f4").reshape(shape))
    values = data[:count].view(np.int8).reshape(-1, group).astype(np.float32)
    scales = data[count:].view("<f4").reshape(-1, 1)
    return np.asarray(values * scales, np.float32).reshape(shape)


def _rename_tensor(name: str, tensor: Array) -> Iterator[tuple[str, Array]]:
    if name in _EMBEDDINGS:
        yield _EMBEDDINGS[name], tensor
        return
    layer, part, kind = name.split(".")
    prefix = f"encoder.layer.{layer.removeprefix('l')}"
    if part == "qkv":
        for one, piece in zip(("query", "key", "value"), np.split(tensor, 3), strict=True):
            yield f"{prefix}.attention.self.{one}.{_KINDS[kind]}", piece
    else:
        yield f"{prefix}.{_PARTS[part]}.{_KINDS[kind]}", tensor
