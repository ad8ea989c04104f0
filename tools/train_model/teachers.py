"""Bring the weights of the teachers into one form: those that Recollect can download as models.

    python -m train_model.teachers PUBLISHED TEACHERS [NAME...]

PUBLISHED gets each model's own files, and is read instead of downloading them again. TEACHERS gets
`NAME-0.npz`..., `NAME.json` and `NAME-tokenizer.json`. Every teacher is then a BERT whose position
table begins with the first token's row and includes the token type. One that shares the first
teacher's words (`mpnet`) reads the first one's token ids.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
from train_model.weights import Weights, save_pieces

from recollect.adapters.models.embedders.building import read_published
from recollect.adapters.models.embedders.local_models import BERT, Architecture, local_model
from recollect.adapters.models.embedders.onnx_encoder import distance_buckets
from recollect.adapters.models.embedders.weights import fetch_weights

_NAMES = ("gte-small", "mpnet", "granite-30m")
_WORDS, _POSITIONS = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
_TYPES, _DISTANCES = (
    "embeddings.token_type_embeddings.weight",
    "encoder.relative_attention_bias.weight",
)
_PARTS = ("query", "key", "value", "attended", "attended_norm")


def to_bert(weights: Weights, architecture: Architecture, max_tokens: int) -> Weights:
    """Return the weights under BERT's names, without what the encoder does not use."""
    names = {getattr(architecture, part): getattr(BERT, part) for part in _PARTS}
    found: Weights = {}
    for name, array in weights.items():
        if match := re.fullmatch(r"(encoder\.layer\.\d+)\.(.+)\.(weight|bias)", name):
            found[f"{match[1]}.{names.get(match[2], match[2])}.{match[3]}"] = array
        elif name in {_WORDS, "embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"}:
            found[name] = array
    first = architecture.first_position
    positions = weights[_POSITIONS][first : first + max_tokens]
    found[_POSITIONS] = positions + weights[_TYPES][0] if _TYPES in weights else positions
    if _DISTANCES in weights:
        by_bucket = weights[_DISTANCES]
        found["distances"] = by_bucket[distance_buckets(max_tokens, len(by_bucket))].T
    return found


def same_ids(words: np.ndarray, ids: dict[str, int], like: dict[str, int]) -> np.ndarray:
    """Order the rows of a word table by another tokenizer's ids of the same words."""
    marks = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>"}
    named = (
        ids.get(marks.get(word, word), ids.get(word)) for word in sorted(like, key=like.__getitem__)
    )
    return words[[ids["[UNK]"] if row is None else row for row in named]]


def _vocabulary(tokenizer: bytes) -> dict[str, int]:
    read = json.loads(tokenizer)
    added = {token["content"]: token["id"] for token in read["added_tokens"]}
    return {**read["model"]["vocab"], **added}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("published", type=Path)
    parser.add_argument("teachers", type=Path)
    parser.add_argument("names", nargs="*", default=_NAMES)
    arguments = parser.parse_args()
    like: dict[str, int] = {}
    for name in arguments.names:
        model, folder = local_model(name), arguments.published / name
        if not all((folder / file.name).exists() for file in model.files):
            folder.mkdir(parents=True, exist_ok=True)
            fetch_weights(model, folder, lambda _step, _share: None)
        read, tokenizer = read_published(model, folder)
        if model.architecture is None:
            parser.error(f"{name} is not a transformer")
        weights = to_bert(dict(read), model.architecture, model.max_tokens)
        like = like or _vocabulary(tokenizer)
        own = _vocabulary(tokenizer)
        shares = len(own.keys() & like.keys()) > 0.9 * len(like)
        if shares:
            weights[_WORDS] = same_ids(weights[_WORDS], own, like)
        settings = {
            "heads": model.architecture.heads,
            "epsilon": model.architecture.epsilon,
            "pooling": model.pooling,
            "tokens": "" if shares else f"{name}-tokenizer_",
            "padding": 0 if shares else own["<pad>"],
            "end": like["[SEP]"] if shares else own["</s>"],
        }
        save_pieces(arguments.teachers, name, weights, in_bytes=True)
        (arguments.teachers / f"{name}.json").write_text(json.dumps(settings), encoding="utf-8")
        plain = {**json.loads(tokenizer), "padding": None, "truncation": None}
        (arguments.teachers / f"{name}-tokenizer.json").write_text(
            json.dumps(plain, ensure_ascii=False), encoding="utf-8", newline="\n"
        )
        print(name, settings, sum(array.size for array in weights.values()), "numbers")


if __name__ == "__main__":
    main()
