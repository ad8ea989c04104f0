"""Weights in files that are small enough to travel, and in the format that others read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Weights = dict[str, Array]

_PIECE, _CUT = 15 << 20, 1 << 20  # bytes: of a file, and of a part of a matrix
_PART, _SCALE = "#", "|scale"


def save_pieces(folder: Path, name: str, weights: Weights, *, in_bytes: bool = False) -> None:
    """Write `NAME-0.npz` and so on, as 16-bit floats, or as matrices of bytes with a scale per row.

    Large matrices are cut between rows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pieces: list[dict[str, NDArray[np.generic]]] = [{}]
    size = 0
    for key, array in weights.items():
        rows = max(1, _CUT * len(array) // (2 * array.size))
        for part, first in enumerate(range(0, len(array), rows)):
            stored = _pack(f"{key}{_PART}{part}", array[first : first + rows], in_bytes)
            more = sum(value.nbytes for value in stored.values())
            if size and size + more > _PIECE:
                pieces.append({})
                size = 0
            pieces[-1].update(stored)
            size += more
    for left in folder.glob(f"{name}-*.npz"):
        left.unlink()
    for number, piece in reversed(list(enumerate(pieces))):  # the first is there when all are
        scratch = folder / f"{name}.part.npz"
        np.savez(scratch, **piece)
        scratch.rename(folder / f"{name}-{number}.npz")


def _pack(key: str, array: Array, in_bytes: bool) -> dict[str, NDArray[np.generic]]:  # noqa: FBT001
    if not in_bytes or array.ndim == 1:
        return {key: array.astype(np.float16)}
    scales = np.maximum(np.abs(array).max(axis=1, keepdims=True) / 127, 1e-12)
    return {key: np.round(array / scales).astype(np.int8), key + _SCALE: scales.astype(np.float32)}


def load_pieces(folder: Path, name: str) -> Weights:
    parts: dict[str, Array] = {}
    for path in folder.glob(f"{name}-*.npz"):
        with np.load(path) as stored:
            for key in (key for key in stored.files if not key.endswith(_SCALE)):
                value = stored[key].astype(np.float32)
                parts[key] = value * stored[key + _SCALE] if key + _SCALE in stored.files else value
    joined: dict[str, list[Array]] = {}
    for key in sorted(parts, key=lambda key: int(key.rpartition(_PART)[2])):
        joined.setdefault(key.rpartition(_PART)[0], []).append(parts[key])
    return {key: np.concatenate(arrays) for key, arrays in sorted(joined.items())}


def save_safetensors(path: Path, weights: Weights) -> None:
    """Write 16-bit floats: the length of an index, the index, the numbers."""
    index, offset = {}, 0
    for key, array in weights.items():
        end = offset + 2 * array.size
        index[key] = {"dtype": "F16", "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    header = json.dumps(index).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for array in weights.values():
            file.write(array.astype("<f2").tobytes())
