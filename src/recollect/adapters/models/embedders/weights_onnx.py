"""Reading the weights out of an exported ONNX graph.

Exporters keep the names of biases and norms. A matrix is transposed and loses its name, so it gets
it back from the node that multiplies by it: `/encoder/layer.0/output/dense/MatMul`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from recollect.adapters.models.embedders.weights_safetensors import Array


def read_graph_weights(path: Path) -> dict[str, Array]:
    """The graph's 32-bit tensors under the names that they had before the export."""
    graph = onnx.load(path, load_external_data=False).graph
    tensors = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT
    }
    for node in graph.node:
        if node.op_type == "MatMul" and (matrix := tensors.pop(node.input[1], None)) is not None:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            tensors[f"{name}.weight"] = matrix.T
    return {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()}
