"""The networks written again, in plain numpy and straight from their papers.

Only the weights are shared with the code under test: no folding of constants, no graph.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

erf = np.vectorize(math.erf, otypes=[np.float64])


class ReferenceEncoder:
    def __init__(
        self,
        weights: Mapping[str, NDArray[np.float32]],
        heads: int,
        epsilon: float,
        *,
        first_position: int = 0,
        pooling: str = "mean",
    ) -> None:
        self.weights = {name: value.astype(np.float64) for name, value in weights.items()}
        self.heads = heads
        self.epsilon = epsilon
        self.first_position = first_position
        self.pooling = pooling
        self.is_mpnet = "encoder.relative_attention_bias.weight" in weights
        self.layers = len({name.split(".")[2] for name in weights if ".layer." in name})

    def encode(self, ids: Sequence[int]) -> Array:
        states = self.states(ids)
        pooled = states[0] if self.pooling == "cls" else states.mean(axis=0)
        vector: Array = pooled / np.sqrt((pooled**2).sum())
        return vector

    def states(self, ids: Sequence[int]) -> Array:
        states = self.embed(ids)
        for number in range(self.layers):
            states = self.layer(states, f"encoder.layer.{number}.")
        return states

    def embed(self, ids: Sequence[int]) -> Array:
        words = self.weights["embeddings.word_embeddings.weight"]
        places = self.weights["embeddings.position_embeddings.weight"]
        first = self.first_position
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
    """Return one of 32 buckets: 16 ahead, 16 behind; each has 8 near ones and 8 wider ones up to
    128.
    """
    side = 16 if distance > 0 else 0
    steps = abs(distance)
    if steps < 8:
        return side + steps
    return side + min(15, 8 + int(math.log(steps / 8) / math.log(16) * 8))


class UseReference:
    """The multilingual Universal Sentence Encoder, one token and one neighbour at a time."""

    def __init__(self, weights: Mapping[str, NDArray[np.generic]]) -> None:
        self.weights = {name: value.astype(np.float64) for name, value in weights.items()}

    def encode(self, ids: Sequence[int]) -> Array:
        w = self.weights
        x = self.states(ids).sum(axis=0) / math.sqrt(len(ids))
        x = self.relu(x @ w["p1"] + self.relu(x @ w["d0"]) @ w["d1"])
        x = np.tanh(x @ w["p3"] + self.relu(x @ w["d2"]) @ w["d3"])
        vector: Array = x / np.sqrt((x**2).sum())
        return vector

    def states(self, ids: Sequence[int]) -> Array:
        w = self.weights
        tokens = np.array(
            [w[f"q{id % 17 + 1}"][id // 17] * w["scale"][id % 17] + w["lo"][id % 17] for id in ids]
        )
        narrow = np.concatenate([tokens @ w[f"proj{n}"] + w[f"proj_b{n}"] for n in (2, 3, 5)], 1)
        narrow = self.norm(narrow, *(np.concatenate([w[f"{g}{n}"] for n in (2, 3, 5)]) for g in LN))
        parts = [tokens]
        for (n, before), x in zip(((2, 0), (3, 1), (5, 2)), np.split(narrow, 3, 1), strict=True):
            for step in (1, 2):
                x = x + self.relu(
                    self.gather_neighbors(x, n, before) @ w[f"w{step}_{n}"] + w[f"b{step}_{n}"]
                )
            parts.append(x)
        joined = self.norm(np.concatenate(parts, 1), w["ln_g"], w["ln_b"])
        states: Array = joined @ w["cnn_W"] + w["cnn_b"]
        return states

    def gather_neighbors(self, x: Array, width: int, before: int) -> Array:
        zero = np.zeros(x.shape[1])
        places = range(-before, width - before)
        return np.array(
            [
                np.concatenate([x[t + p] if 0 <= t + p < len(x) else zero for p in places])
                for t in range(len(x))
            ]
        )

    def norm(self, x: Array, scale: Array, shift: Array) -> Array:
        mean = x.mean(axis=1, keepdims=True)
        spread = np.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + self.weights["eps"])
        scaled: Array = (x - mean) / spread * scale + shift
        return scaled

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0)


LN = ("ln_g", "ln_b")
