"""Drawing an ONNX graph: the one module that talks to the `onnx` package.

`Graph` adds nodes and hands back the names of their outputs, so that a network reads like the
arithmetic it is. Only operators of the ONNX standard are used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from recollect.adapters.models.embedders.weights_safetensors import Array

Precision = Literal["fp32", "int8"]
Attribute = int | float | list[int]

_OPSET = 20  # the first with Gelu
_IR_VERSION = 10  # what runtimes of that opset read
_LARGEST = np.float32(127)
_ZERO = 128  # uint8 that stands for 0.0
_TINY = np.float32(1e-12)  # keeps a row of zeros from dividing by zero


class Graph:
    """A graph in the making, from inputs of shape (batch, sequence) to vectors."""

    def __init__(self, precision: Precision) -> None:
        self._precision = precision
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def op(
        self, kind: str, *inputs: str, output: str | None = None, **attributes: Attribute
    ) -> str:
        """Add a node; the name of its output."""
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
        """The rows of `table` that `ids` names."""
        if self._precision == "fp32":
            return self.op("Gather", self.constant(table), ids)
        values, scales = _rows_to_int8(table)
        rows = self.to_float(self.op("Gather", self.constant(values), ids))
        return self.op("Mul", rows, self.op("Gather", self.constant(scales), ids))

    def linear(self, x: str, weight: Array, bias: Array | None = None) -> str:
        """The map x · weightᵀ + bias."""
        if self._precision == "fp32":
            product = self.op("MatMul", x, self.constant(weight.T))
        else:
            product = self._integer_product(x, weight)
        return product if bias is None else self.op("Add", product, self.constant(bias))

    def _integer_product(self, x: str, weight: Array) -> str:
        """The product in whole numbers, with a scale for each token and each output.

        onnxruntime's own dynamic quantisation takes one scale for all of `x`, so that a vector
        depends on what else is in its batch and on its own longest outlier. A scale for each token
        costs the same and keeps tokens, and so texts, independent of each other.
        """
        values, scales = _rows_to_int8(weight)
        peak = self.op("ReduceMax", self.op("Abs", x), self.integers(-1), keepdims=1)
        step = self.op("Max", self.op("Div", peak, self.number(127)), self.number(1e-12))
        whole = self.op("Round", self.op("Div", x, step))
        # Unsigned by signed is the product that every processor's kernels do fast.
        shifted = self.op("Add", whole, self.number(_ZERO))
        unsigned = self.op("Cast", shifted, to=TensorProto.UINT8)
        zero = self.constant(np.array(_ZERO, np.uint8))
        product = self.op("MatMulInteger", unsigned, self.constant(values.T), zero)
        scaled = self.op("Mul", self.to_float(product), step)
        return self.op("Mul", scaled, self.constant(scales[:, 0]))

    def save(
        self, path: Path, inputs: tuple[str, ...], outputs: dict[str, list[str]], dimension: int
    ) -> None:
        """Write the graph, checked by the package's own rules. `outputs` are vectors of this
        dimension, by name, with the axes that precede it.
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
    """Each row as whole numbers from −127 to 127, and the column of scales that brings it back."""
    scales = np.maximum(np.abs(rows).max(axis=1, keepdims=True) / _LARGEST, _TINY)
    return np.round(rows / scales).astype(np.int8), scales
