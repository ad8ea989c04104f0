"""The graph of the multilingual Universal Sentence Encoder, version 3.

It has no attention. Each token's vector is brought to three narrow ones, which two convolutions mix
with their neighbors: two, three and five tokens wide. The sum over the tokens, divided by the root
of their number, then goes through four dense maps with two shortcuts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recollect.adapters.models.embedders.onnx_encoder import IDS, MASK, OUTPUTS, STATES, normalize
from recollect.adapters.models.embedders.onnx_graph import Graph, Precision
from recollect.adapters.models.embedders.weights_safetensors import Array, Weights

_BLOCKS = 17  # of the table of tokens: token t is row t // 17 of block t % 17
_WINDOWS = {2: 0, 3: 1, 5: 2}  # how many tokens a convolution sees, and how many of them before


def read_use_weights(path: Path) -> dict[str, Array]:
    """The arrays by name; a file that contains objects, which could run code, is refused."""
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def build_use_encoder(weights: Weights, *, precision: Precision, target: Path) -> None:
    """Write the encoder, with the states of the tokens and the text's unit vector as outputs."""
    graph = Graph(precision)
    mask = graph.to_float(MASK)
    seen = graph.op("Unsqueeze", mask, graph.integers(2))
    tokens = _tokens(graph, weights)
    narrow = graph.linear(
        tokens,
        np.concatenate([weights[f"proj{width}"] for width in _WINDOWS], axis=1).T,
        np.concatenate([weights[f"proj_b{width}"] for width in _WINDOWS]),
    )
    narrow = _norm(
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
            around = _around(graph, graph.op("Mul", x, seen), width)
            weight, bias = weights[f"w{step}_{width}"], weights[f"b{step}_{width}"]
            x = graph.op("Add", x, graph.op("Relu", graph.linear(around, weight.T, bias)))
        parts.append(x)
    joined = graph.op("Concat", *parts, axis=2)
    joined = _norm(graph, weights, joined, *(weights[name] for name in _NORM))
    states = graph.linear(joined, weights["cnn_W"].T, weights["cnn_b"])
    graph.op("Identity", states, output=STATES)
    normalize(graph, _dense(graph, weights, _sum(graph, states, seen, mask)))
    graph.save(target, (IDS, MASK), OUTPUTS, len(weights["cnn_b"]))


_NORM = ("ln_g", "ln_b")


def _tokens(graph: Graph, weights: Weights) -> str:
    """Each token's row of the table, which is published in 8 bits and stays so."""
    blocks = [weights[f"q{number + 1}"] for number in range(_BLOCKS)]
    table = np.stack(blocks, axis=1).reshape(-1, blocks[0].shape[1])
    rows = graph.to_float(graph.op("Gather", graph.constant(table), IDS))
    block = graph.op("Mod", IDS, graph.integer(_BLOCKS))
    scales, lows = (
        graph.op("Gather", graph.constant(weights[name][:, None]), block)
        for name in ("scale", "lo")
    )
    return graph.op("Add", graph.op("Mul", rows, scales), lows)


def _around(graph: Graph, x: str, width: int) -> str:
    """Each token's vector beside those of its neighbors; beyond the text they are zero."""
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


def _norm(graph: Graph, weights: Weights, x: str, scale: Array, shift: Array) -> str:
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
