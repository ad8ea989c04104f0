"""Learn the codec of a model's token vectors: `codecs/NAME.npz` next to the embedders.

    tools/token_codec.py gte-small FILE...

The mean of token vectors and the directions in which they vary most are computed from general text
in the FILEs, by paragraph, and from sequences of the model's own vocabulary, which has names and
places that our texts lack. A new codec makes stored token vectors unreadable: they are ignored
until `recollect reembed` writes them again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from recollect.adapters.models.embedders import token_codec
from recollect.adapters.models.embedders.local import local_embedder
from recollect.adapters.models.embedders.local_cache import TOKENIZER, model_folder
from recollect.adapters.models.embedders.local_models import LocalModel, local_model
from recollect.core.text.stop_words import english_stop_words
from recollect.settings import load

DIRECTIONS = 172
PARAGRAPHS = 1_400
SEQUENCES = 900
_BATCH = 32


def read_paragraphs(files: list[Path], chance: random.Random) -> list[str]:
    texts = [
        " ".join(paragraph.split())
        for file in files
        for paragraph in file.read_text(encoding="utf-8").split("\n\n")
    ]
    usable = [text for text in texts if 60 < len(text) < 900 and "|" not in text]
    return chance.sample(usable, min(PARAGRAPHS, len(usable)))


def make_sequences(tokenizer: Path, chance: random.Random) -> list[str]:
    """Return sequences of vocabulary words, frequent ones more often, mixed with stop words."""
    vocabulary = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    words: list[str] = [
        word
        for word in sorted(vocabulary, key=vocabulary.__getitem__)
        if word.isascii() and word.isalpha() and len(word) > 2 and word not in english_stop_words()
    ]
    stop_words = sorted(filter(str.isalpha, english_stop_words()))

    def draw() -> str:
        kind = chance.random()
        if kind < 0.35:
            return chance.choice(stop_words)
        if kind < 0.97:
            return words[int(len(words) * chance.random() ** 2)]
        return str(chance.randint(1, 2100))

    lengths = (chance.randint(6, 30) for _ in range(SEQUENCES))
    return [f"{' '.join(draw() for _ in range(length)).capitalize()}." for length in lengths]


async def embed_tokens(model: LocalModel, models: Path, texts: list[str]) -> np.ndarray:
    found = []
    async with local_embedder(models, model) as embedder:
        for first in range(0, len(texts), _BATCH):
            batch = texts[first : first + _BATCH]
            for embedded in await embedder.embed_documents_with_tokens(batch):
                if embedded.tokens is not None:
                    values = np.frombuffer(embedded.tokens.values, "<f4")
                    found.append(values.reshape(-1, embedded.tokens.dimension))
    return np.concatenate(found)


def learn(vectors: np.ndarray) -> dict[str, np.ndarray]:
    mean = vectors.mean(axis=0)
    centered = vectors - mean
    _, eigenvectors = np.linalg.eigh(np.cov(centered.T))
    directions = eigenvectors[:, ::-1][:, :DIRECTIONS].astype(np.float16)
    stored = centered @ directions.astype(np.float32)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    return {"mean": mean, "directions": directions, "spread": stored.std(axis=0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    model, models, chance = local_model(options.model), load().models_folder, random.Random(1)
    tokenizer = model_folder(model, models) / TOKENIZER
    texts = read_paragraphs(options.files, chance) + make_sequences(tokenizer, chance)
    learned = learn(asyncio.run(embed_tokens(model, models, texts)))
    target = Path(token_codec.__file__).parent / "codecs" / f"{model.name}.npz"
    target.parent.mkdir(exist_ok=True)
    parts: dict[str, Any] = {name: part.astype(np.float16) for name, part in learned.items()}
    np.savez(target, **parts)
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
