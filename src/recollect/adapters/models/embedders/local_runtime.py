"""Run an ONNX encoder, one text at a time: the only module of the embedders that uses onnxruntime.

Each text runs alone, without padding. On a CPU padding costs more than batching saves (a third to a
half of the speed on dialogue turns), and a vector cannot depend on other texts in its batch.
"""

from __future__ import annotations

import importlib
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.adapters.models.embedders.local_models import Pooling
from recollect.core.errors import ModelUnavailable
from recollect.core.recall.late import EmbeddedText, TokenVectors

# A token is a few characters long. A text with more characters per token than this is longer than
# the model reads, and tokenizing a megabyte would take seconds.
_CHARACTERS_A_TOKEN = 64

_POOLED = "sentence_embedding"
_TINY = 1e-12
_STATES = ("last_hidden_state", "token_embeddings")


@dataclass(frozen=True, slots=True)
class Reading:
    """How a model reads text: how many tokens, and which of their states count."""

    max_tokens: int
    pooling: Pooling = "mean"


class Encoder:
    """A loaded model. Thread-safe."""

    def __init__(self, folder: Path, reading: Reading) -> None:
        import numpy as np

        self._np = np
        self._reading = reading
        self._tokenizer = _tokenizer(folder / "tokenizer.json", reading.max_tokens)
        self._session = _session(folder / "model.onnx")
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise ModelUnavailable(
                f"{folder / 'model.onnx'} takes the inputs {self._inputs}",
                remedy="Export the model as a text encoder with the inputs input_ids, "
                "attention_mask and, if it needs them, token_type_ids.",
            )
        outputs = {entry.name: len(entry.shape) for entry in self._session.get_outputs()}
        self._output = _POOLED if _POOLED in outputs else next(iter(outputs))
        named = [name for name in (*_STATES, self._output) if outputs.get(name) == 3]
        self._states = named[0] if named else None

    def encode(self, text: str) -> list[float]:
        """Return the text's vector, of length 1."""
        (output,) = self._run(self._tokens(text), [self._output])
        return self._pool(output)

    def encode_with_tokens(self, text: str) -> EmbeddedText:
        """Return the text's vector and, if the model exposes them, those of its tokens."""
        tokens = self._tokens(text)
        if self._states is None:
            (output,) = self._run(tokens, [self._output])
            return EmbeddedText(self._pool(output), None)
        output, states = self._run(tokens, [self._output, self._states])
        return EmbeddedText(self._pool(output), self._token_vectors(tokens, states[0]))

    def _run(self, tokens: Any, outputs: list[str]) -> list[Any]:  # noqa: ANN401  # tokenizers'
        np = self._np
        ids = np.array([tokens.ids], dtype=np.int64)
        values = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        feed = {name: values[name] for name in self._inputs}
        found: list[Any] = self._session.run(outputs, feed)
        return found

    def _pool(self, output: Any) -> list[float]:  # noqa: ANN401  # an array
        np = self._np
        vector = np.asarray(output[0], dtype=np.float32)
        if vector.ndim == 2:  # the states of the tokens
            vector = vector[0] if self._reading.pooling == "cls" else vector.mean(axis=0)
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length == 0.0:
            raise ModelUnavailable(
                "The model returned a vector without a direction",
                remedy="The model's files are damaged or not those of a text encoder: download or "
                "export them again.",
            )
        normalised: list[float] = (vector / length).tolist()
        return normalised

    def _token_vectors(self, tokens: Any, states: Any) -> TokenVectors:  # noqa: ANN401  # arrays
        """Return the vectors of the tokens of the text, without the markers around it."""
        np = self._np
        marks = zip(tokens.special_tokens_mask, tokens.offsets, strict=True)
        rows = [
            row for row, (special, (start, end)) in enumerate(marks) if not special and end > start
        ]
        vectors = np.asarray(states, dtype=np.float32)[rows]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = vectors / np.maximum(lengths, _TINY)
        return TokenVectors(
            dimension=states.shape[1],
            spans=tuple(tokens.offsets[row] for row in rows),
            values=unit.astype("<f4").tobytes(),
        )

    def _tokens(self, text: str) -> Any:  # noqa: ANN401  # tokenizers' own type
        # A lone surrogate is valid in a Python string and nowhere else.
        valid = text[: self._reading.max_tokens * _CHARACTERS_A_TOKEN].encode("utf-8", "replace")
        return self._tokenizer.encode(valid.decode())


def _tokenizer(path: Path, max_tokens: int) -> Any:  # noqa: ANN401  # tokenizers' own types
    tokenizers = _import("tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise _unreadable_error(path, error) from error
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return tokenizer


def _session(path: Path) -> Any:  # noqa: ANN401  # onnxruntime has no types
    onnxruntime = _import("onnxruntime")
    options = onnxruntime.SessionOptions()
    # Texts run in parallel in our own threads: more threads would only wait for each other.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Planning which tensors share memory is three quarters of the work of loading, and saves
    # nothing here: the same speed and the same memory were measured without it.
    options.enable_mem_reuse = False
    if _sums_overflow():
        options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # a dozen unrelated classes, one meaning
        raise _unreadable_error(path, error) from error


def _sums_overflow() -> bool:
    """Return whether this processor adds pairs of 8-bit products in 16 bits, which can overflow.

    x86 before VNNI does. Exact sums can be requested, but take twice as long, and onnxruntime then
    uses them on any processor: so they are requested only where they are needed.
    """
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        return False
    try:
        return "vnni" not in Path("/proc/cpuinfo").read_text()
    except OSError:
        return True


def _import(name: str) -> Any:  # noqa: ANN401  # modules without types
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModelUnavailable(
            f"The Python package {name} could not be imported ({error})",
            remedy=f"Install it (`pip install {name}`), or use a hosted embedding model. Until "
            "then memories are found by words only.",
        ) from error


def _unreadable_error(path: Path, error: Exception) -> ModelUnavailable:
    return ModelUnavailable(
        f"{path} could not be read ({str(error)[:200]})",
        remedy="The file is missing, damaged, or needs a newer onnxruntime or tokenizers: "
        "download or export the model again, or update those packages.",
    )
