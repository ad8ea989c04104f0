"""Open a model's files: `model.onnx` with onnxruntime, `tokenizer.json` with tokenizers. Both are
imported here, when a model is first needed.
"""

from __future__ import annotations

import importlib
import platform
from pathlib import Path
from typing import Any

from recollect.core.errors import ModelUnavailable


def open_tokenizer(path: Path, max_tokens: int) -> Any:  # noqa: ANN401  # tokenizers' own types
    """Return the tokenizer. Of a pair of texts it truncates the longer one, so that neither a long
    query nor a long text displaces the other.
    """
    tokenizers = import_package("tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise _unreadable_error(path, error) from error
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return tokenizer


def open_session(path: Path, *, threads: int = 1, reuses_memory: bool = False) -> Any:  # noqa: ANN401  # onnxruntime has no types
    """Return a session that runs the model on the CPU.

    Planning which tensors share memory is three quarters of the work of loading an encoder, and
    saves nothing there: the same speed and the same memory were measured without it.
    """
    onnxruntime = import_package("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised
    options.enable_mem_reuse = reuses_memory
    # Threads that spin while they wait for the next text would each use a full processor.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
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


def import_package(name: str) -> Any:  # noqa: ANN401  # modules without types
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModelUnavailable(
            f"The Python package {name} could not be imported ({error})",
            remedy=f"Install it (`pip install {name}`), or configure a model on another machine, "
            "or none.",
        ) from error


def _unreadable_error(path: Path, error: Exception) -> ModelUnavailable:
    return ModelUnavailable(
        f"{path} could not be read ({str(error)[:200]})",
        remedy="The file is missing, damaged, or needs a newer onnxruntime or tokenizers: "
        "download or export the model again, or update those packages.",
    )
