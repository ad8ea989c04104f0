"""Make the model's folder from trained weights: `model.onnx` in 8 bits, as Recollect loads it, the
tokenizer, and the weights in 16 bits to train on from.

    python -m train_model.export TRAINED TEACHERS FOLDER [--share 0.5]

The weights are the mean of the first and the last stage, with this share of the last.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import replace
from pathlib import Path

from train_model.weights import load_pieces, save_safetensors

from recollect.adapters.models.embedders.local_models import BERT
from recollect.adapters.models.embedders.onnx_encoder import build_encoder


def export(trained: Path, teachers: Path, folder: Path, *, share: float, teacher: str) -> None:
    first, last = load_pieces(trained, "states"), load_pieces(trained, "pairs")
    weights = {name: (1 - share) * first[name] + share * last[name] for name in first}
    settings = json.loads((teachers / f"{teacher}.json").read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    save_safetensors(folder / "model_fp16.safetensors", weights)
    shutil.copyfile(teachers / f"{teacher}-tokenizer.json", folder / "tokenizer.json")
    build_encoder(
        weights,
        replace(BERT, heads=settings["heads"], epsilon=settings["epsilon"]),
        max_tokens=len(weights["embeddings.position_embeddings.weight"]),
        precision="int8",
        target=folder / "model.onnx",
        pooling=settings["pooling"],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trained", type=Path)
    parser.add_argument("teachers", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--teacher", default="gte-small")
    given = parser.parse_args()
    export(given.trained, given.teachers, given.folder, share=given.share, teacher=given.teacher)


if __name__ == "__main__":
    main()
