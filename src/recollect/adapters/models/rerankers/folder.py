"""A cross-encoder from any folder with `model.onnx` and `tokenizer.json`."""

from __future__ import annotations

import importlib
import math
import os
from pathlib import Path
from typing import Any

from recollect.adapters.models.rerankers.cross_encoder import CrossEncoder, Stop
from recollect.core.errors import ModelUnavailable

_DEFAULT_TOKENS = 512  # what most cross-encoders were trained with
# A token is 3 to 6 characters long. What is past this many a token the model would not read, and
# the tokenizer takes a second to cut two long texts back to the model's length.
_CHARACTERS_A_TOKEN = 8
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def folder_reranker(folder: Path, *, max_tokens: int = _DEFAULT_TOKENS) -> CrossEncoder:
    """The reranker of the model in `folder`, which is loaded when first needed."""
    return CrossEncoder(lambda: OnnxPairModel(folder, max_tokens))


class OnnxPairModel:
    """A loaded model."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self._np = _import("numpy")
        self._runtime = _import("onnxruntime")
        self._max_characters = max_tokens * _CHARACTERS_A_TOKEN
        self._tokenizer = _tokenizer(_file(folder, "tokenizer.json"), max_tokens)
        self._session = _session(self._runtime, _file(folder, "model.onnx"))
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        if "input_ids" not in self._inputs or not set(self._inputs) <= set(_INPUTS):
            raise ModelUnavailable(
                f"{folder / 'model.onnx'} takes the inputs {self._inputs}",
                remedy=f"Export the model with inputs among {', '.join(_INPUTS)}.",
            )

    def score(self, query: str, text: str, stop: Stop) -> float:
        encoding = self._tokenizer.encode(self._sound(query), self._sound(text))
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

    def _sound(self, text: str) -> str:
        # Half a surrogate pair is legal in a Python string and nowhere else.
        return text[: self._max_characters].encode("utf-8", "replace").decode()


def _single_score(output: Any) -> float:  # noqa: ANN401  # numpy is imported late
    """One number: the only one, or how far "fits" is ahead of "does not fit"."""
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


def _tokenizer(path: Path, max_tokens: int) -> Any:  # noqa: ANN401  # tokenizers' own types
    tokenizers = _import("tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise _unreadable(path) from error
    # The longer of the two is cut: a long query must not push the text out, nor the other way.
    tokenizer.enable_truncation(max_tokens, strategy="longest_first")
    tokenizer.no_padding()
    return tokenizer


def _session(runtime: Any, path: Path) -> Any:  # noqa: ANN401  # onnxruntime has no types
    options = runtime.SessionOptions()
    # Half of the processors: the rest of a recall, and others, run at the same time.
    options.intra_op_num_threads = max(1, (os.cpu_count() or 1) // 2)
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Threads that wait for the next pair by spinning would burn a processor each.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # a dozen unrelated classes, one meaning
        raise _unreadable(path) from error


def _import(name: str) -> Any:  # noqa: ANN401  # modules without types, imported when needed
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModelUnavailable(
            f"The Python package {name} could not be imported",
            remedy=f"Install it (`pip install {name}`), or turn reranking off.",
        ) from error


def _unreadable(path: Path) -> ModelUnavailable:
    return ModelUnavailable(
        f"{path} could not be read",
        remedy="The file is damaged, or needs a newer onnxruntime or tokenizers: download or "
        "export the model again, or update those packages.",
    )
