"""A cross-encoder by its name on a model hub, downloaded by fastembed.

Downloading brings files in; no text goes out.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from recollect.adapters.models.rerankers.cross_encoder import CrossEncoder, Stop
from recollect.core.errors import ModelUnavailable


def hub_reranker(name: str, *, cache: Path) -> CrossEncoder:
    """The reranker of a model such as BAAI/bge-reranker-v2-m3 or Xenova/ms-marco-MiniLM-L-6-v2. The
    files are searched in `cache`, then on the hub, when first needed.
    """
    return CrossEncoder(lambda: HubPairModel(name, cache))


class HubPairModel:
    """A loaded model."""

    def __init__(self, name: str, cache: Path) -> None:
        try:
            fastembed = importlib.import_module("fastembed.rerank.cross_encoder")
            # It writes its retries to stderr, which belongs to the shells; the error below says it.
            importlib.import_module("loguru").logger.disable("fastembed")
        except ImportError as error:
            raise ModelUnavailable(
                f"The reranking model {name} needs the Python package fastembed",
                remedy="Install it (`pip install fastembed`), or name a folder that contains "
                "model.onnx and tokenizer.json.",
            ) from error
        try:
            self._encoder: Any = fastembed.TextCrossEncoder(name, cache_dir=str(cache))
        except Exception as error:  # whatever the hub's client and the files raise
            raise ModelUnavailable(
                f"The reranking model {name} could not be downloaded or read",
                remedy="Check its name and that this machine can reach the hub, or name a folder "
                "that contains model.onnx and tokenizer.json.",
            ) from error

    def score(self, query: str, text: str, stop: Stop) -> float:  # noqa: ARG002  # no way to use it
        (score,) = self._encoder.rerank(query, [text], batch_size=1)
        return float(score)
