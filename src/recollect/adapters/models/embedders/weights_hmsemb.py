"""Reading an `.hmsemb` pack: eight bytes that name the format, a JSON header with its length, the
tokenizer, and the tensors in the header's order. An 8-bit tensor is all its values, followed by one
32-bit scale for each group of neighboring values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from recollect.adapters.models.embedders.weights_safetensors import Array

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
    """The tensors under the names that BERT's weights have, and the tokenizer."""
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
