"""The second stage of recall: a model that reads query and text together, off the event loop.

It is slow, so recall gives it a hard time limit and goes on without it after that. A run whose
caller has given up must not keep using the processor: it stops before the next pair or, if the
runtime can be interrupted, within a pair.
"""

from __future__ import annotations

import asyncio
import importlib
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, Self

from recollect.adapters.models.onnx_files import import_package, open_session, open_tokenizer
from recollect.core.errors import ModelUnavailable
from recollect.core.retry import MODEL_RETRY_SECONDS


class Stop:
    """Asks a run in another thread to stop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requested = False
        self._then: list[Callable[[], None]] = []

    @property
    def requested(self) -> bool:
        return self._requested

    def request(self) -> None:
        with self._lock:
            self._requested = True
            for interrupt in self._then:
                interrupt()

    def then(self, interrupt: Callable[[], None]) -> None:
        """Call `interrupt` when the run is asked to stop, or immediately if it already was."""
        with self._lock:
            self._then.append(interrupt)
            if self._requested:
                interrupt()


class PairModel(Protocol):
    """A loaded model. Pairs are scored one at a time: on a CPU a batch with its padding saves
    nothing, and a score must not depend on the other pairs.
    """

    def score(self, query: str, text: str, stop: Stop) -> float: ...


class CrossEncoder:
    """A reranker around a model that `load` loads when first needed. One thread runs everything:
    two runs at once would only delay both.
    """

    def __init__(
        self, load: Callable[[], PairModel], *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._load = load
        self._now = now
        self._model: PairModel | None = None
        self._failed: tuple[float, ModelUnavailable] | None = None
        self._running: set[Stop] = set()
        # The thread starts with the first pair, so that an unused reranker costs nothing.
        self._pool = ThreadPoolExecutor(1, "rerank")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for stop in self._running:
            stop.request()
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    @property
    def is_hosted(self) -> bool:
        """The model runs in this process, wherever it was downloaded from."""
        return False

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score how well each text answers the query; only the order of the scores has a meaning.
        Cancelling it also stops the work. Raises ModelUnavailable without a usable model.
        """
        stop = Stop()
        loop = asyncio.get_running_loop()
        self._running.add(stop)
        try:
            return await loop.run_in_executor(self._pool, self._run, query, tuple(texts), stop)
        finally:
            # Has no effect on a run that has ended.
            stop.request()
            self._running.discard(stop)

    def _run(self, query: str, texts: Sequence[str], stop: Stop) -> list[float]:
        if not texts:
            return []
        model = self._ensure_loaded()
        found: list[float] = []
        for text in texts:
            if stop.requested:
                # Only raised to a caller that still waits when the reranker is closed.
                raise ModelUnavailable("The reranker was closed", remedy="Ask again.")
            found.append(model.score(query, text, stop))
        return found

    def _ensure_loaded(self) -> PairModel:
        if self._model is not None:
            return self._model
        if self._failed is not None and self._now() < self._failed[0] + MODEL_RETRY_SECONDS:
            earlier = self._failed[1]
            raise ModelUnavailable(str(earlier), remedy=earlier.remedy)
        try:
            self._model = self._load()
        except ModelUnavailable as error:
            self._failed = (self._now(), error)
            raise
        return self._model


# A cross-encoder from any folder with `model.onnx` and `tokenizer.json`.

_DEFAULT_TOKENS = 512  # what most cross-encoders were trained with
# A token is 3 to 6 characters long. Text beyond this many characters per token would not be read by
# the model, and the tokenizer takes a second to truncate two long texts.
_CHARACTERS_A_TOKEN = 8
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def folder_reranker(folder: Path, *, max_tokens: int = _DEFAULT_TOKENS) -> CrossEncoder:
    """Return the reranker of the model in `folder`, which is loaded when first needed."""
    return CrossEncoder(lambda: OnnxPairModel(folder, max_tokens))


class OnnxPairModel:
    """A loaded model."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self._np = import_package("numpy")
        self._runtime = import_package("onnxruntime")
        self._max_characters = max_tokens * _CHARACTERS_A_TOKEN
        self._tokenizer = open_tokenizer(_file(folder, "tokenizer.json"), max_tokens)
        # Half of the processors: the rest of the recall, and other work, run at the same time.
        threads = max(1, (os.cpu_count() or 1) // 2)
        self._session = open_session(
            _file(folder, "model.onnx"), threads=threads, reuses_memory=True
        )
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        if "input_ids" not in self._inputs or not set(self._inputs) <= set(_INPUTS):
            raise ModelUnavailable(
                f"{folder / 'model.onnx'} takes the inputs {self._inputs}",
                remedy=f"Export the model with inputs among {', '.join(_INPUTS)}.",
            )

    def score(self, query: str, text: str, stop: Stop) -> float:
        encoding = self._tokenizer.encode(self._clean(query), self._clean(text))
        values = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feed = {name: self._np.array([values[name]], dtype="int64") for name in self._inputs}
        options = self._runtime.RunOptions()
        stop.then(lambda: setattr(options, "terminate", True))
        try:
            outputs = self._session.run(None, feed, options)
        except Exception as error:  # a dozen unrelated classes, one meaning
            raise ModelUnavailable(
                "The reranking model failed in the middle of a pair",
                remedy="Check that the model and the tokenizer in its folder belong together.",
            ) from error
        return _single_score(outputs[0])

    def _clean(self, text: str) -> str:
        # Half a surrogate pair is legal in a Python string and nowhere else.
        return text[: self._max_characters].encode("utf-8", "replace").decode()


def _single_score(output: Any) -> float:  # noqa: ANN401  # numpy is imported late
    """Return one score: the only output, or how far "relevant" is ahead of "not relevant"."""
    numbers = output.reshape(-1).tolist()
    score = numbers[1] - numbers[0] if len(numbers) == 2 else sum(numbers)
    if len(numbers) not in (1, 2) or not math.isfinite(score):
        raise ModelUnavailable(
            "The reranking model did not answer with one score for a pair",
            remedy="Name a folder that contains a cross-encoder with one or two outputs per pair.",
        )
    return float(score)


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise ModelUnavailable(
            f"There is no {name} in {folder}",
            remedy="Name a folder that contains model.onnx and tokenizer.json.",
        )
    return path


# A cross-encoder by its name on a model hub, downloaded by fastembed. Only files are downloaded; no
# text is sent.


def hub_reranker(name: str, *, cache: Path) -> CrossEncoder:
    """Return the reranker of a model such as BAAI/bge-reranker-v2-m3 or
    Xenova/ms-marco-MiniLM-L-6-v2. When first needed, its files are taken from `cache` or the hub.
    """
    return CrossEncoder(lambda: HubPairModel(name, cache))


class HubPairModel:
    """A loaded model."""

    def __init__(self, name: str, cache: Path) -> None:
        try:
            fastembed = importlib.import_module("fastembed.rerank.cross_encoder")
            # It logs retries to stderr, which belongs to the shells; the error below reports them.
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
