"""Run an ONNX encoder, one text at a time.

Each text runs alone, without padding. On a CPU padding costs more than batching saves (a third to a
half of the speed on dialogue turns), and a vector cannot depend on other texts in its batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.adapters.models.embedders.local_models import Pooling
from recollect.adapters.models.onnx_files import open_session, open_tokenizer
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
        self._tokenizer = open_tokenizer(folder / "tokenizer.json", reading.max_tokens)
        # Texts run in parallel in our own threads: more threads would only wait for each other.
        self._session = open_session(folder / "model.onnx")
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
