"""Vectors for a corpus of any size, without embedding every memory.

A local model embeds some hundred memories a second, so 300,000 would take the better part of an
hour and measure nothing that matters here. The vectors of some memories are made by the model; the
others lie scattered around them, as texts on the same subject do. Queries are embedded for real.
They are copied into the table as they are: the way through the queue writes each row three times.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from psycopg import AsyncConnection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.numeric import Int4

from recollect.core.memory import Memory
from recollect.core.space import StoredSpace
from recollect.ports import Embedder

ANCHORS: Final = 1_000
# The share of a vector that is its own; the cosine between neighbours is then about .75, as between
# turns of one conversation.
_OWN: Final = 0.6

_COPY: Final = """
copy embeddings (space_id, memory_id, content_hash, vector) from stdin (format binary)
"""

Matrix = npt.NDArray[np.float32]


async def anchors(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """The vectors that the others are scattered around."""
    return np.asarray(await embedder.embed_documents(texts), dtype=np.float32)


def scattered(around: Matrix, memories: Sequence[Memory]) -> Matrix:
    """A vector for each memory: the same one in every run, because it follows from the memory."""
    seeds = [memory.id.int for memory in memories]
    own = np.stack([_noise(seed, around.shape[1]) for seed in seeds])
    near = around[[seed % len(around) for seed in seeds]]
    return _of_length_one(near + _OWN * _of_length_one(own))


async def copy_vectors(
    connection: AsyncConnection[Any],
    space: StoredSpace,
    memories: Sequence[Memory],
    vectors: Matrix,
) -> None:
    """Put vectors in as a worker would leave them; the memories must have no row in this space."""
    connection.adapters.register_dumper(np.ndarray, _Halfvec)
    async with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for memory, vector in zip(memories, vectors, strict=True):
            digest = sha256(memory.content.encode()).digest()
            await copy.write_row((Int4(space.id), memory.id, digest, vector))


class _Halfvec(Dumper):
    """pgvector's binary form of a `halfvec`: the dimension, an unused number, then the numbers."""

    format = Format.BINARY

    def dump(self, obj: Matrix) -> bytes:
        return struct.pack(">hh", len(obj), 0) + obj.astype(">f2").tobytes()


def _noise(seed: int, dimension: int) -> Matrix:
    return np.random.default_rng(seed).standard_normal(dimension, dtype=np.float32)


def _of_length_one(vectors: Matrix) -> Matrix:
    lengths: Matrix = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths
