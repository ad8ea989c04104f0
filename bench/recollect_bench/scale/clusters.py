"""Synthetic vectors in clusters, and a model that computes them almost for free.

No model embeds a million texts here. A text's vector follows from its bytes alone: the center of a
topic, and an offset from it. Like those of real texts, the vectors have 384 dimensions but differ
in far fewer directions; isotropic noise of that dimension has no near neighbours at all, and would
measure something that no store contains. Every owner has memories on every topic, which is the hard
case for an index that all owners share.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import numpy as np

from recollect.core.recall.space import Space
from recollect.ports.embedding import Embedder
from recollect_bench.speed.vectors import Matrix

NAME: Final = "clusters"
DIMENSION: Final = 384
TOPICS: Final = 1_000
_DIRECTIONS: Final = 24
# Relative to a center's length: the spread of vectors of one topic, and the noise in each.
_SPREAD: Final = 0.5
_NOISE: Final = 0.1


class Clusters:
    """Implements the `Embedder` and `Embedders` ports."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        random = np.random.default_rng(seed)
        self._centers = random.standard_normal((TOPICS, _DIRECTIONS))
        self._directions = random.standard_normal((_DIRECTIONS, DIMENSION))

    @property
    def space(self) -> Space:
        return Space(NAME, f"seed-{self._seed}", DIMENSION)

    @property
    def is_hosted(self) -> bool:
        return False

    async def embedder(self, _name: str) -> Embedder:
        return self

    def at_once(self, texts: Sequence[str]) -> int:
        return max(1, len(texts))

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        seed = int.from_bytes(sha256(text.encode()).digest()[:8])
        vector: list[float] = self.vectors(1, seed)[0].tolist()
        return vector

    def vectors(self, count: int, seed: int) -> Matrix:
        """Return `count` vectors of length 1, the same for the same seed."""
        random = np.random.default_rng(seed)
        latent = self._centers[random.integers(0, TOPICS, count)]
        latent = latent + _SPREAD * random.standard_normal((count, _DIRECTIONS))
        found = latent @ self._directions
        noise = _NOISE * np.sqrt(_DIRECTIONS) * random.standard_normal((count, DIMENSION))
        found = (found + noise).astype(np.float32)
        vectors: Matrix = found / np.linalg.norm(found, axis=1, keepdims=True)
        return vectors
