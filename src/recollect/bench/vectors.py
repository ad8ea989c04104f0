"""Vectors for a corpus of any size, without embedding every memory.

A local model embeds some hundred memories a second, so 300,000 would take the better part of an
hour and measure nothing that matters here. The vectors of some memories are made by the model; the
others lie scattered around them, as texts on the same subject do. Queries are embedded for real.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from recollect.core.space import EmbeddingJob
from recollect.ports import Embedder

ANCHORS: Final = 1_000
# The share of a vector that is its own; the cosine between neighbours is then about .8, as between
# turns of one conversation.
_OWN: Final = 0.6

Matrix = npt.NDArray[np.float32]


async def anchors(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """The vectors that the others are scattered around."""
    return np.asarray(await embedder.embed_documents(texts), dtype=np.float32)


def scattered(around: Matrix, jobs: Sequence[EmbeddingJob]) -> list[list[float]]:
    """A vector for each job: the same one in every run, because it follows from the memory."""
    rows = [_one(around, job.memory_id.int) for job in jobs]
    return [list(map(float, row)) for row in rows]


def _one(around: Matrix, seed: int) -> Matrix:
    random = np.random.default_rng(seed)
    noise = random.standard_normal(around.shape[1], dtype=np.float32)
    own = _OWN * noise / np.linalg.norm(noise)
    vector: Matrix = around[seed % len(around)] + own
    return vector / np.linalg.norm(vector)
