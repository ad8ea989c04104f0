"""Build a graph that turns tokens into a unit vector from published weights.

The networks are BERT's encoder, which RoBERTa shares, and MPNet's, which adds a bias for the
distance between two tokens. What does not depend on the text is computed here, once: the position
table includes the only token type that is used, the query weights include the attention's scale,
and MPNet's distance buckets become a table with one column per distance.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from recollect.adapters.models.embedders.local_models import Architecture, Pooling
from recollect.adapters.models.embedders.weight_formats import Array, Weights

# Building an ONNX graph: this is the only module that uses the `onnx` package. `Graph` adds nodes
# and returns the names of their outputs, so that a network reads like the arithmetic it is. Only
# operators of the ONNX standard are used.

Precision = Literal["fp32", "int8"]
Attribute = int | float | list[int]

_OPSET = 20  # the first with Gelu
_IR_VERSION = 10  # what runtimes of that opset read
_LARGEST = np.float32(127)
_ZERO = 128  # the uint8 that represents 0.0
_TINY = np.float32(1e-12)  # avoids a division by zero for a row of zeros


class Graph:
    """A graph under construction, from inputs of shape (batch, sequence) to vectors."""

    def __init__(self, precision: Precision) -> None:
        self._precision = precision
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def op(
        self, kind: str, *inputs: str, output: str | None = None, **attributes: Attribute
    ) -> str:
        """Add a node. Returns the name of its output."""
        name = output or f"n{len(self._nodes)}"
        node = helper.make_node(kind, list(inputs), [name], name=name)
        node.attribute.extend(helper.make_attribute(key, attributes[key]) for key in attributes)
        self._nodes.append(node)
        return name

    def constant(self, value: NDArray[np.generic]) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def integer(self, value: int) -> str:
        return self.constant(np.array(value, np.int64))

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def to_float(self, value: str) -> str:
        return self.op("Cast", value, to=TensorProto.FLOAT)

    def lookup(self, table: Array, ids: str) -> str:
        """Look up the rows of `table` with these ids."""
        if self._precision == "fp32":
            return self.op("Gather", self.constant(table), ids)
        values, scales = _rows_to_int8(table)
        rows = self.to_float(self.op("Gather", self.constant(values), ids))
        return self.op("Mul", rows, self.op("Gather", self.constant(scales), ids))

    def linear(self, x: str, weight: Array, bias: Array | None = None) -> str:
        """Compute x · weightᵀ + bias."""
        if self._precision == "fp32":
            product = self.op("MatMul", x, self.constant(weight.T))
        else:
            product = self._integer_product(x, weight)
        return product if bias is None else self.op("Add", product, self.constant(bias))

    def _integer_product(self, x: str, weight: Array) -> str:
        """Compute the product in integers, with a scale for each token and each output.

        onnxruntime's own dynamic quantization uses one scale for all of `x`, so that a vector
        depends on what else is in its batch and on its largest outlier. A scale for each token
        costs the same and keeps tokens, and so texts, independent of each other.
        """
        values, scales = _rows_to_int8(weight)
        peak = self.op("ReduceMax", self.op("Abs", x), self.integers(-1), keepdims=1)
        step = self.op("Max", self.op("Div", peak, self.number(127)), self.number(1e-12))
        whole = self.op("Round", self.op("Div", x, step))
        # Unsigned times signed is the product that is fast on every processor.
        shifted = self.op("Add", whole, self.number(_ZERO))
        unsigned = self.op("Cast", shifted, to=TensorProto.UINT8)
        zero = self.constant(np.array(_ZERO, np.uint8))
        product = self.op("MatMulInteger", unsigned, self.constant(values.T), zero)
        scaled = self.op("Mul", self.to_float(product), step)
        return self.op("Mul", scaled, self.constant(scales[:, 0]))

    def save(
        self, path: Path, inputs: tuple[str, ...], outputs: dict[str, list[str]], dimension: int
    ) -> None:
        """Write the graph, validated by the `onnx` package. `outputs` are vectors of this
        dimension, by name, with the axes before the last one.
        """
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [
                helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
                for name in inputs
            ],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, [*axes, dimension])
                for name, axes in outputs.items()
            ],
            self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def _rows_to_int8(rows: Array) -> tuple[NDArray[np.int8], Array]:
    """Convert each row to integers from −127 to 127, with the column of scales to restore it."""
    scales = np.maximum(np.abs(rows).max(axis=1, keepdims=True) / _LARGEST, _TINY)
    return np.round(rows / scales).astype(np.int8), scales


IDS, MASK = "input_ids", "attention_mask"
VECTOR, STATES = "sentence_embedding", "last_hidden_state"
OUTPUTS = {VECTOR: ["batch"], STATES: ["batch", "sequence"]}

_WORDS = "embeddings.word_embeddings.weight"
_POSITIONS = "embeddings.position_embeddings.weight"
_TOKEN_TYPES = "embeddings.token_type_embeddings.weight"  # noqa: S105  # a tensor's name
_DISTANCES = "encoder.relative_attention_bias.weight"

_FAR = 128  # MPNet: distances from this one on share a bucket
_MASKED = -10_000.0  # hides padding from a softmax


def build_encoder(
    weights: Weights,
    architecture: Architecture,
    *,
    max_tokens: int,
    precision: Precision,
    target: Path,
    pooling: Pooling = "mean",
) -> None:
    """Write the encoder. Its outputs are the token states and their pooled unit vector."""
    graph = Graph(precision)
    dimension = weights[_WORDS].shape[1]
    mask = graph.to_float(MASK)
    length = graph.op("Shape", IDS, start=1, end=2)

    x = _embeddings(graph, weights, architecture, length, max_tokens)
    bias = _attention_bias(graph, weights, mask, length, max_tokens)
    for number in range(_layers(weights)):
        x = _Layer(graph, weights, architecture, f"encoder.layer.{number}").apply(x, bias)
    graph.op("Identity", x, output=STATES)
    pooled = _take_first(graph, x) if pooling == "cls" else _mean(graph, x, mask)
    normalize(graph, pooled)
    graph.save(target, (IDS, MASK), OUTPUTS, dimension)


def distance_buckets(max_tokens: int, buckets: int) -> NDArray[np.int64]:
    """Return the bucket of each distance from −(max_tokens − 1) to max_tokens − 1 (key − query).

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
    """Return the bias added to the attention before softmax: (batch, heads or 1, query, key)."""
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
        # One product for all three: `x` is quantized once.
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


def _take_first(graph: Graph, x: str) -> str:
    return graph.op("Gather", x, graph.integer(0), axis=1)


def _mean(graph: Graph, x: str, mask: str) -> str:
    seen = graph.op("Mul", x, graph.op("Unsqueeze", mask, graph.integers(2)))
    total = graph.op("ReduceSum", seen, graph.integers(1), keepdims=0)
    count = graph.op("ReduceSum", mask, graph.integers(1), keepdims=1)
    return graph.op("Div", total, graph.op("Max", count, graph.number(1)))


def normalize(graph: Graph, x: str) -> None:
    """Add the last step of every encoder: scale the vector to length 1."""
    length = graph.op("ReduceL2", x, graph.integers(1), keepdims=1)
    graph.op("Div", x, graph.op("Max", length, graph.number(1e-12)), output=VECTOR)


# The graph of the multilingual Universal Sentence Encoder, version 3. It has no attention. Each
# token's vector is projected to three narrow ones, which two convolutions, two, three and five
# tokens wide, mix with their neighbors. The sum over the tokens, divided by the square root of
# their number, then goes through four dense layers with two shortcuts.

_BLOCKS = 17  # of the token table: token t is row t // 17 of block t % 17
_WINDOWS = {2: 0, 3: 1, 5: 2}  # the width of a convolution in tokens: how many of them come before


def read_use_weights(path: Path) -> dict[str, Array]:
    """Read the arrays by name; a file with objects, which could run code, is refused."""
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def build_use_encoder(weights: Weights, *, precision: Precision, target: Path) -> None:
    """Write the encoder. Its outputs are the token states and the text's unit vector."""
    graph = Graph(precision)
    mask = graph.to_float(MASK)
    seen = graph.op("Unsqueeze", mask, graph.integers(2))
    tokens = _tokens(graph, weights)
    narrow = graph.linear(
        tokens,
        np.concatenate([weights[f"proj{width}"] for width in _WINDOWS], axis=1).T,
        np.concatenate([weights[f"proj_b{width}"] for width in _WINDOWS]),
    )
    narrow = _normalize(
        graph,
        weights,
        narrow,
        *(np.concatenate([weights[f"{name}{width}"] for width in _WINDOWS]) for name in _NORM),
    )
    parts = [tokens]
    for number, width in enumerate(_WINDOWS):
        size = len(weights[f"b1_{width}"])
        x = _slice(graph, narrow, 2, number * size, (number + 1) * size)
        for step in (1, 2):
            around = _concatenate_neighbors(graph, graph.op("Mul", x, seen), width)
            weight, bias = weights[f"w{step}_{width}"], weights[f"b{step}_{width}"]
            x = graph.op("Add", x, graph.op("Relu", graph.linear(around, weight.T, bias)))
        parts.append(x)
    joined = graph.op("Concat", *parts, axis=2)
    joined = _normalize(graph, weights, joined, *(weights[name] for name in _NORM))
    states = graph.linear(joined, weights["cnn_W"].T, weights["cnn_b"])
    graph.op("Identity", states, output=STATES)
    normalize(graph, _dense(graph, weights, _sum(graph, states, seen, mask)))
    graph.save(target, (IDS, MASK), OUTPUTS, len(weights["cnn_b"]))


_NORM = ("ln_g", "ln_b")


def _tokens(graph: Graph, weights: Weights) -> str:
    """Look up each token in the table, which is published in 8 bits and stays in 8 bits."""
    blocks = [weights[f"q{number + 1}"] for number in range(_BLOCKS)]
    table = np.stack(blocks, axis=1).reshape(-1, blocks[0].shape[1])
    rows = graph.to_float(graph.op("Gather", graph.constant(table), IDS))
    block = graph.op("Mod", IDS, graph.integer(_BLOCKS))
    scales, lows = (
        graph.op("Gather", graph.constant(weights[name][:, None]), block)
        for name in ("scale", "lo")
    )
    return graph.op("Add", graph.op("Mul", rows, scales), lows)


def _concatenate_neighbors(graph: Graph, x: str, width: int) -> str:
    """Concatenate each token's vector with its neighbors'; beyond the text these are zero."""
    before = _WINDOWS[width]
    padding = graph.integers(0, before, 0, 0, width - 1 - before, 0)
    padded = graph.op("Pad", x, padding)
    shifted = [
        _slice(graph, padded, 1, number, number - width + 1 or None) for number in range(width)
    ]
    return graph.op("Concat", *shifted, axis=2)


def _slice(graph: Graph, x: str, axis: int, first: int, last: int | None) -> str:
    end = np.iinfo(np.int64).max if last is None else last
    return graph.op(
        "Slice", x, graph.integers(first), graph.integers(int(end)), graph.integers(axis)
    )


def _normalize(graph: Graph, weights: Weights, x: str, scale: Array, shift: Array) -> str:
    return graph.op(
        "LayerNormalization",
        x,
        graph.constant(scale),
        graph.constant(shift),
        axis=-1,
        epsilon=float(weights["eps"]),
    )


def _sum(graph: Graph, states: str, seen: str, mask: str) -> str:
    total = graph.op("ReduceSum", graph.op("Mul", states, seen), graph.integers(1), keepdims=0)
    count = graph.op("ReduceSum", mask, graph.integers(1), keepdims=1)
    return graph.op("Div", total, graph.op("Sqrt", graph.op("Max", count, graph.number(1))))


def _dense(graph: Graph, weights: Weights, x: str) -> str:
    inner = graph.op("Relu", graph.linear(x, weights["d0"].T))
    shortcut = graph.linear(x, weights["p1"].T)
    x = graph.op("Relu", graph.op("Add", shortcut, graph.linear(inner, weights["d1"].T)))
    inner = graph.op("Relu", graph.linear(x, weights["d2"].T))
    shortcut = graph.linear(x, weights["p3"].T)
    return graph.op("Tanh", graph.op("Add", shortcut, graph.linear(inner, weights["d3"].T)))
