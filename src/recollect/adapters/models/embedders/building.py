"""Convert a model's published files, whatever their format, to the two files the runtime reads."""

from __future__ import annotations

from pathlib import Path

from recollect.adapters.models.embedders.local_models import LocalModel
from recollect.adapters.models.embedders.onnx_encoder import (
    build_encoder,
    build_use_encoder,
    read_use_weights,
)
from recollect.adapters.models.embedders.sentencepiece import tokenizer_from_sentencepiece
from recollect.adapters.models.embedders.weight_formats import (
    Weights,
    read_graph_weights,
    read_pack,
    read_weights,
)


def build_files(model: LocalModel, published: Path, target: Path, tokenizer: Path) -> None:
    """Write the graph to `target` and the tokenizer next to it."""
    if model.architecture is None:
        arrays = read_use_weights(published / model.weights.name)
        build_use_encoder(arrays, precision=model.precision, target=target)
        pieces = (published / model.tokenizer.name).read_bytes()
        tokenizer.write_bytes(tokenizer_from_sentencepiece(pieces))
        return
    weights, tokens = read_published(model, published)
    build_encoder(
        weights,
        model.architecture,
        max_tokens=model.max_tokens,
        precision=model.precision,
        target=target,
        pooling=model.pooling,
    )
    tokenizer.write_bytes(tokens)


def read_published(model: LocalModel, published: Path) -> tuple[Weights, bytes]:
    """Return the weights and the tokenizer of a transformer."""
    weights = published / model.weights.name
    if model.format == "hmsemb":
        return read_pack(weights)
    tokenizer = (published / model.tokenizer.name).read_bytes()
    if model.format == "onnx":
        return read_graph_weights(weights), tokenizer
    return read_weights(weights), tokenizer
