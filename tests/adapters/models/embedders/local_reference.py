"""The two networks once more, in plain numpy and straight from their papers.

Nothing is shared with the code under test but the weights: no folding of constants, no graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

erf = np.vectorize(math.erf, otypes=[np.float64])


class ReferenceEncoder:
    def __init__(self, weights: dict[str, NDArray[np.float32]], heads: int, epsilon: float) -> None:
        self.weights = {name: value.astype(np.float64) for name, value in weights.items()}
        self.heads = heads
        self.epsilon = epsilon
        self.is_mpnet = "encoder.relative_attention_bias.weight" in weights
        self.layers = len({name.split(".")[2] for name in weights if ".layer." in name})

    def encode(self, ids: Sequence[int]) -> Array:
        states = self.embed(ids)
        for number in range(self.layers):
            states = self.layer(states, f"encoder.layer.{number}.")
        mean = states.mean(axis=0)
        vector: Array = mean / np.sqrt((mean**2).sum())
        return vector

    def embed(self, ids: Sequence[int]) -> Array:
        words = self.weights["embeddings.word_embeddings.weight"]
        places = self.weights["embeddings.position_embeddings.weight"]
        padding_id = 1
        first = padding_id + 1 if self.is_mpnet else 0
        rows = [words[id] + places[first + place] for place, id in enumerate(ids)]
        if not self.is_mpnet:
            rows = [
                row + self.weights["embeddings.token_type_embeddings.weight"][0] for row in rows
            ]
        return self.norm(np.array(rows), "embeddings.LayerNorm")

    def layer(self, x: Array, prefix: str) -> Array:
        if self.is_mpnet:
            names, joined, norm = ("attn.q", "attn.k", "attn.v"), "attn.o", "LayerNorm"
        else:
            names, joined = ("self.query", "self.key", "self.value"), "output.dense"
            norm = "output.LayerNorm"
        query, key, value = (self.linear(x, f"{prefix}attention.{name}") for name in names)
        size = x.shape[1] // self.heads
        mixed = np.zeros_like(x)
        for head in range(self.heads):
            own = slice(head * size, (head + 1) * size)
            scores = query[:, own] @ key[:, own].T / math.sqrt(size)
            if self.is_mpnet:
                scores = scores + self.distance_bias(len(x), head)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            mixed[:, own] = shares / shares.sum(axis=1, keepdims=True) @ value[:, own]
        attended = self.linear(mixed, f"{prefix}attention.{joined}")
        x = self.norm(x + attended, f"{prefix}attention.{norm}")
        inner = self.linear(x, f"{prefix}intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        return self.norm(
            x + self.linear(inner, f"{prefix}output.dense"), f"{prefix}output.LayerNorm"
        )

    def distance_bias(self, length: int, head: int) -> Array:
        table = self.weights["encoder.relative_attention_bias.weight"]
        return np.array(
            [[table[bucket(key - query), head] for key in range(length)] for query in range(length)]
        )

    def linear(self, x: Array, name: str) -> Array:
        product: Array = x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return product

    def norm(self, x: Array, name: str) -> Array:
        mean = x.mean(axis=-1, keepdims=True)
        spread = np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + self.epsilon)
        scaled: Array = (x - mean) / spread * self.weights[f"{name}.weight"]
        return scaled + self.weights[f"{name}.bias"]


def bucket(distance: int) -> int:
    """32 buckets: 16 ahead, 16 behind; each 8 near ones and 8 that widen up to 128."""
    side = 16 if distance > 0 else 0
    steps = abs(distance)
    if steps < 8:
        return side + steps
    return side + min(15, 8 + int(math.log(steps / 8) / math.log(16) * 8))
