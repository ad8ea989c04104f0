"""From published weights to a graph that turns tokens into a unit vector.

The networks are BERT's encoder, which RoBERTa shares, and MPNet's, which adds a bias for the
distance between two tokens. What does not depend on the text is computed here, once: the position
table carries the only token type that is used, the attention's scale is inside the query weights,
and MPNet's distance buckets become a table with one column a distance.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.adapters.models.embedders.local_models import Architecture, Pooling
from recollect.adapters.models.embedders.onnx_graph import Graph, Precision
from recollect.adapters.models.embedders.weights_safetensors import Array, Weights

IDS, MASK = "input_ids", "attention_mask"
VECTOR, STATES = "sentence_embedding", "last_hidden_state"
OUTPUTS = {VECTOR: ["batch"], STATES: ["batch", "sequence"]}

_WORDS = "embeddings.word_embeddings.weight"
_POSITIONS = "embeddings.position_embeddings.weight"
_TOKEN_TYPES = "embeddings.token_type_embeddings.weight"  # noqa: S105  # a tensor's name
_DISTANCES = "encoder.relative_attention_bias.weight"

_FAR = 128  # MPNet: distances from here on share a bucket
_MASKED = -10_000.0  # what keeps a softmax from seeing padding


def build_encoder(
    weights: Weights,
    architecture: Architecture,
    *,
    max_tokens: int,
    precision: Precision,
    target: Path,
    pooling: Pooling = "mean",
) -> None:
    """Write the encoder, with the states of the tokens and their pooled unit vector as outputs."""
    graph = Graph(precision)
    dimension = weights[_WORDS].shape[1]
    mask = graph.to_float(MASK)
    length = graph.op("Shape", IDS, start=1, end=2)

    x = _embeddings(graph, weights, architecture, length, max_tokens)
    bias = _attention_bias(graph, weights, mask, length, max_tokens)
    for number in range(_layers(weights)):
        x = _Layer(graph, weights, architecture, f"encoder.layer.{number}").apply(x, bias)
    graph.op("Identity", x, output=STATES)
    pooled = _first(graph, x) if pooling == "cls" else _mean(graph, x, mask)
    normalize(graph, pooled)
    graph.save(target, (IDS, MASK), OUTPUTS, dimension)


def distance_buckets(max_tokens: int, buckets: int) -> NDArray[np.int64]:
    """The bucket of each distance from −(max_tokens − 1) to max_tokens − 1 (key minus query).

    As in T5 and MPNet: half of the buckets for each direction; of these, half for one distance
    each, the rest for ranges that grow by a constant factor up to `_FAR`.
    """
    distance = np.arange(-(max_tokens - 1), max_tokens)
    half = buckets // 2
    exact = half // 2
    steps = np.abs(distance)
    growth = np.log(np.maximum(steps, 1) / exact) / math.log(_FAR / exact)
    ranged = np.minimum(exact + (growth * (half - exact)).astype(np.int64), half - 1)
    return np.where(distance > 0, half, 0) + np.where(steps < exact, steps, ranged)


def _layers(weights: Weights) -> int:
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))


def _embeddings(
    graph: Graph, weights: Weights, architecture: Architecture, length: str, max_tokens: int
) -> str:
    first = architecture.first_position
    positions = weights[_POSITIONS][first : first + max_tokens]
    if _TOKEN_TYPES in weights:
        positions = positions + weights[_TOKEN_TYPES][0]
    here = graph.op(
        "Slice", graph.constant(positions), graph.integers(0), length, graph.integers(0)
    )
    x = graph.op("Add", graph.lookup(weights[_WORDS], IDS), here)
    return _norm(graph, weights, "embeddings.LayerNorm", x, architecture.epsilon)


def _attention_bias(graph: Graph, weights: Weights, mask: str, length: str, max_tokens: int) -> str:
    """What is added to the attention before its softmax, as (batch, heads or 1, query, key)."""
    hidden = graph.op("Sub", graph.number(1), graph.op("Unsqueeze", mask, graph.integers(1, 2)))
    padding = graph.op("Mul", hidden, graph.number(_MASKED))
    if _DISTANCES not in weights:
        return padding
    by_bucket = weights[_DISTANCES]
    by_distance = by_bucket[distance_buckets(max_tokens, len(by_bucket))].T
    end = graph.op("Squeeze", length)
    places = graph.op("Range", graph.integer(0), end, graph.integer(1))
    keys = graph.op("Unsqueeze", places, graph.integers(0))
    queries = graph.op("Unsqueeze", places, graph.integers(1))
    column = graph.op("Add", graph.op("Sub", keys, queries), graph.integer(max_tokens - 1))
    return graph.op("Add", padding, graph.op("Gather", graph.constant(by_distance), column, axis=1))


class _Layer:
    """One layer of the encoder: attention, then two linear maps with a GELU between them."""

    def __init__(
        self, graph: Graph, weights: Weights, architecture: Architecture, prefix: str
    ) -> None:
        self._graph = graph
        self._weights = weights
        self._architecture = architecture
        self._prefix = prefix

    def apply(self, x: str, bias: str) -> str:
        graph, named = self._graph, self._architecture
        attended = graph.linear(self._attend(x, bias), *self._pair(named.attended))
        x = self._norm(named.attended_norm, graph.op("Add", x, attended))
        inner = graph.op("Gelu", graph.linear(x, *self._pair("intermediate.dense")))
        outer = graph.linear(inner, *self._pair("output.dense"))
        return self._norm("output.LayerNorm", graph.op("Add", x, outer))

    def _attend(self, x: str, bias: str) -> str:
        graph, heads = self._graph, self._architecture.heads
        named = self._architecture
        query, key, value = map(self._pair, (named.query, named.key, named.value))
        width = len(query[1])
        scale = np.float32(1 / math.sqrt(width / heads))
        # One product for all three: `x` is brought to whole numbers once.
        together = graph.linear(
            x,
            np.concatenate([query[0] * scale, key[0], value[0]]),
            np.concatenate([query[1] * scale, key[1], value[1]]),
        )
        # (batch, sequence, 3 · width) → (3, batch, heads, sequence, width / heads)
        split = graph.op("Reshape", together, graph.integers(0, 0, 3, heads, width // heads))
        apart = graph.op("Transpose", split, perm=[2, 0, 3, 1, 4])
        queries, keys, values = (
            graph.op("Gather", apart, graph.integer(part), axis=0) for part in range(3)
        )
        turned = graph.op("Transpose", keys, perm=[0, 1, 3, 2])
        scores = graph.op("Add", graph.op("MatMul", queries, turned), bias)
        mixed = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), values)
        joined = graph.op("Transpose", mixed, perm=[0, 2, 1, 3])
        return graph.op("Reshape", joined, graph.integers(0, 0, width))

    def _pair(self, name: str) -> tuple[Array, Array]:
        prefix = f"{self._prefix}.{name}"
        return self._weights[f"{prefix}.weight"], self._weights[f"{prefix}.bias"]

    def _norm(self, name: str, x: str) -> str:
        epsilon = self._architecture.epsilon
        return _norm(self._graph, self._weights, f"{self._prefix}.{name}", x, epsilon)


def _norm(graph: Graph, weights: Weights, name: str, x: str, epsilon: float) -> str:
    scale = graph.constant(weights[f"{name}.weight"])
    shift = graph.constant(weights[f"{name}.bias"])
    return graph.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)


def _first(graph: Graph, x: str) -> str:
    return graph.op("Gather", x, graph.integer(0), axis=1)


def _mean(graph: Graph, x: str, mask: str) -> str:
    seen = graph.op("Mul", x, graph.op("Unsqueeze", mask, graph.integers(2)))
    total = graph.op("ReduceSum", seen, graph.integers(1), keepdims=0)
    count = graph.op("ReduceSum", mask, graph.integers(1), keepdims=1)
    return graph.op("Div", total, graph.op("Max", count, graph.number(1)))


def normalize(graph: Graph, x: str) -> None:
    """The last step of every encoder: the vector of length 1."""
    length = graph.op("ReduceL2", x, graph.integers(1), keepdims=1)
    graph.op("Div", x, graph.op("Max", length, graph.number(1e-12)), output=VECTOR)
