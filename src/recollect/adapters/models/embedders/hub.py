"""Models of a model hub, such as BAAI/bge-large-en-v1.5, through the optional package fastembed.

This needs access to a hub, at least once: fastembed keeps downloads in the models folder and works
from there. It lists each model's dimension, so the space is known without loading anything.
"""

from __future__ import annotations

import importlib
import threading
from pathlib import Path
from typing import Any

from recollect.adapters.models.embedders.local import LocalEmbedder
from recollect.core.admin.checks import how_to_install
from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import InvalidInput, ModelUnavailable
from recollect.core.recall.late import EmbeddedText
from recollect.core.recall.space import Space
from recollect.usecases.priority import Yield, no_yield

# From the model card: short queries need a prefix to distinguish them from passages.
BGE_QUERY_INSTRUCTION = "Represent this sentence for searching relevant passages: "

_BGE_ENGLISH = ("BAAI/bge-small-en", "BAAI/bge-base-en", "BAAI/bge-large-en")


def hub_embedder(
    name: str,
    models: Path,
    *,
    query_instruction: str | None = None,
    yield_to_callers: Yield = no_yield,
    timeouts: Timeouts = TIMEOUTS,
) -> LocalEmbedder:
    """Return the embedder of a hub model, by default with the model's own instruction."""
    fastembed = _import_fastembed(name)
    listed = {entry["model"]: entry for entry in fastembed.TextEmbedding.list_supported_models()}
    if name not in listed:
        raise InvalidInput(
            f"fastembed does not know the model {name!r}",
            field="model",
            remedy="Choose one that it lists (`TextEmbedding.list_supported_models()`), or export "
            "the model to a folder with model.onnx and tokenizer.json and name that folder.",
        )
    if query_instruction is None:
        query_instruction = BGE_QUERY_INSTRUCTION if name.startswith(_BGE_ENGLISH) else ""
    space = Space(
        model=name,
        # The repository of the converted weights: the closest to a revision that fastembed offers.
        revision=str(listed[name]["sources"].get("hf") or "fastembed"),
        dimension=int(listed[name]["dim"]),
        query_instruction=query_instruction,
    )

    def load(_closing: threading.Event) -> _HubEncoder:
        return _HubEncoder(fastembed, name, models / "hub")

    return LocalEmbedder(space, load, yield_to_callers=yield_to_callers, timeouts=timeouts)


class _HubEncoder:
    """A model that fastembed has loaded, one text at a time."""

    def __init__(self, fastembed: Any, name: str, cache: Path) -> None:  # noqa: ANN401  # no types
        try:
            self._model = fastembed.TextEmbedding(model_name=name, cache_dir=str(cache), threads=1)
        except Exception as error:  # it passes on whatever its downloaders raise
            raise ModelUnavailable(
                f"{name} could not be loaded ({str(error)[:200]})",
                remedy="Check that this machine can reach a model hub, or export the model "
                "elsewhere to a folder with model.onnx and tokenizer.json and name that folder.",
            ) from error

    def encode(self, text: str) -> list[float]:
        sound = text.encode("utf-8", "replace").decode()
        (vector,) = self._model.embed([sound])
        length = float((vector**2).sum()) ** 0.5
        normalised: list[float] = (vector / length).tolist()
        return normalised

    def encode_with_tokens(self, text: str) -> EmbeddedText:
        return EmbeddedText(self.encode(text), None)  # fastembed returns only pooled vectors


def _import_fastembed(name: str) -> Any:  # noqa: ANN401  # an optional package without types here
    try:
        return importlib.import_module("fastembed")
    except ImportError as error:
        raise ModelUnavailable(
            f"{name} is a hub model, which needs the package fastembed",
            remedy=f"{how_to_install('hub')} Or choose a local model.",
        ) from error
