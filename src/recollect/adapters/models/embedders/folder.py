"""Any folder with `model.onnx` and `tokenizer.json`, as ONNX exporters write it.

The model's own settings next to it (number of tokens, pooling) are respected. The space's revision
is a hash of the files: a folder whose files change is a new space.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from recollect.adapters.models.embedders.local import LocalEmbedder
from recollect.adapters.models.embedders.local_models import Pooling
from recollect.adapters.models.embedders.local_runtime import Encoder, Reading
from recollect.adapters.models.embedders.packages import sha256_of
from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import ModelUnavailable
from recollect.core.recall.space import Space
from recollect.core.text.passages import MAX_WINDOW
from recollect.usecases.priority import Yield, no_yield

_DEFAULT_TOKENS = 512  # what most encoders were trained with


def folder_embedder(
    folder: Path,
    *,
    name: str | None = None,
    query_instruction: str = "",
    max_tokens: int | None = None,
    pooling: Pooling | None = None,
    yield_to_callers: Yield = no_yield,
    timeouts: Timeouts = TIMEOUTS,
) -> LocalEmbedder:
    """Return the embedder of the model in `folder`. Loads the model, since only a vector shows its
    dimension: call it in a thread.
    """
    for required in ("model.onnx", "tokenizer.json"):
        if not (folder / required).is_file():
            raise ModelUnavailable(
                f"There is no {required} in {folder}",
                remedy="Name a folder that contains model.onnx and tokenizer.json.",
            )
    reading = Reading(max_tokens or _max_tokens(folder), pooling or _pooling(folder))
    encoder = Encoder(folder, reading)
    space = Space(
        model=name or folder.resolve().name,
        revision=_revision(folder, reading),
        dimension=len(encoder.encode("")),
        query_instruction=query_instruction,
        window=min(reading.max_tokens, MAX_WINDOW),
    )
    return LocalEmbedder(
        space,
        lambda _closing: encoder,
        yield_to_callers=yield_to_callers,
        timeouts=timeouts,
    )


def _revision(folder: Path, reading: Reading) -> str:
    digest = hashlib.sha256(f"{reading.max_tokens} {reading.pooling}".encode())
    # Large models store their weights in files next to model.onnx, named after it.
    for path in sorted([*folder.glob("model.onnx*"), folder / "tokenizer.json"]):
        digest.update(f"{path.name} {sha256_of(path)}".encode())
    return digest.hexdigest()[:12]


def _max_tokens(folder: Path) -> int:
    notes = _read_settings(folder / "sentence_bert_config.json").get("max_seq_length")
    if not isinstance(notes, int):
        truncation = _read_settings(folder / "tokenizer.json").get("truncation")
        notes = truncation.get("max_length") if isinstance(truncation, dict) else None
    return notes if isinstance(notes, int) and notes > 0 else _DEFAULT_TOKENS


def _pooling(folder: Path) -> Pooling:
    notes = _read_settings(folder / "1_Pooling" / "config.json")
    return "cls" if notes.get("pooling_mode_cls_token") is True else "mean"


def _read_settings(path: Path) -> dict[str, object]:
    try:
        notes = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return notes if isinstance(notes, dict) else {}
