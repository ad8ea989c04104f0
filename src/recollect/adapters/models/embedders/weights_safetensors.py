"""Reading the safetensors format: a length, a JSON index, and the numbers as they are.

Thirty lines here spare a dependency. Every offset is checked before it is used: the file is only
trusted after its hash, but a clear refusal is worth more than a strange vector.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Weights = Mapping[str, Array]


def read_weights(path: Path) -> dict[str, Array]:
    """The 32-bit tensors of the file by name, mapped from disk. Others hold no weights."""
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
