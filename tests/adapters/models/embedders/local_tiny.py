"""A model small enough to build in no time, in wheels that a real pip finds in a folder."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from recollect.adapters.models.embedders.local_models import (
    BERT,
    MPNET_BASE,
    Architecture,
    LocalModel,
    ModelFile,
    Source,
    Wheel,
)

WORDS = ["[UNK]", "the", "cat", "sleeps", "dog", "barks", "at", "night"]
DIMENSION, INNER, HEADS, LAYERS, PLACES = 32, 64, 4, 2, 256

TINY_BERT = replace(BERT, heads=HEADS)
TINY_MPNET = replace(MPNET_BASE, heads=HEADS)


def random_weights(architecture: Architecture, seed: int) -> dict[str, NDArray[np.float32]]:
    """Weights of the right names and shapes; large enough that every part matters."""
    random = np.random.default_rng(seed)
    weights: dict[str, NDArray[np.float32]] = {}

    def draw(name: str, *shape: int) -> None:
        weights[name] = random.normal(0, 0.3, shape).astype(np.float32)

    def linear(name: str, outputs: int, inputs: int) -> None:
        draw(f"{name}.weight", outputs, inputs)
        draw(f"{name}.bias", outputs)

    def norm(name: str) -> None:
        draw(f"{name}.bias", DIMENSION)
        weights[f"{name}.weight"] = random.uniform(0.5, 1.5, DIMENSION).astype(np.float32)

    draw("embeddings.word_embeddings.weight", len(WORDS), DIMENSION)
    draw("embeddings.position_embeddings.weight", PLACES, DIMENSION)
    norm("embeddings.LayerNorm")
    if architecture.first_position == 0:
        draw("embeddings.token_type_embeddings.weight", 2, DIMENSION)
    else:
        draw("encoder.relative_attention_bias.weight", 32, HEADS)
    for number in range(LAYERS):
        prefix = f"encoder.layer.{number}."
        named = architecture
        for name in (named.query, named.key, named.value, named.attended):
            linear(prefix + name, DIMENSION, DIMENSION)
        norm(prefix + architecture.attended_norm)
        linear(prefix + "intermediate.dense", INNER, DIMENSION)
        linear(prefix + "output.dense", DIMENSION, INNER)
        norm(prefix + "output.LayerNorm")
    return weights


def safetensors(weights: Mapping[str, NDArray[np.float32]]) -> bytes:
    index, body = {}, b""
    for name, value in weights.items():
        entry = {"dtype": "F32", "shape": list(value.shape)}
        index[name] = {**entry, "data_offsets": [len(body), len(body) + value.nbytes]}
        body += value.tobytes()
    head = json.dumps({"__metadata__": {"format": "pt"}, **index}).encode()
    return len(head).to_bytes(8, "little") + head + body


def tokenizer_json() -> bytes:
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(vocab=vocabulary, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="the $A", special_tokens=[("the", 1)]
    )
    text: str = tokenizer.to_str()
    return text.encode()


@dataclass(frozen=True)
class Index:
    """A folder that pip takes for its package index."""

    folder: Path

    def wheel(self, project: str, members: Mapping[str, bytes], part: str = "") -> Wheel:
        """Publish a wheel with these members."""
        path = self.folder / f"{project.replace('-', '_')}-1.0-py3-none-any.whl"
        about = f"{project.replace('-', '_')}-1.0.dist-info"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
            text = f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n"
            archive.writestr(f"{about}/METADATA", text)
            archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            archive.writestr(f"{about}/RECORD", "")
        content = path.read_bytes()
        return Wheel(f"{project}==1.0", hashlib.sha256(content).hexdigest(), len(content), part)

    def source(self, project: str, files: Mapping[str, bytes]) -> Source:
        members = {f"inside/{name}": content for name, content in files.items()}
        return Source((self.wheel(project, members),), "inside")


def tiny_files(seed: int = 1) -> dict[str, bytes]:
    return {
        "model.safetensors": safetensors(random_weights(TINY_BERT, seed)),
        "tokenizer.json": tokenizer_json(),
    }


def tiny_model(*sources: Source, seed: int = 1) -> LocalModel:
    weights, tokenizer = (
        ModelFile(name, hashlib.sha256(content).hexdigest(), len(content))
        for name, content in tiny_files(seed).items()
    )
    return LocalModel(
        name="tiny",
        title="tiny-bert",
        dimension=DIMENSION,
        max_tokens=64,
        architecture=TINY_BERT,
        weights=weights,
        tokenizer=tokenizer,
        sources=sources,
        at_first_use=True,
    )
