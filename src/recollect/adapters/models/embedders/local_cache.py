"""The folder of built models: each is built once, completely or not at all.

A model is in `<models folder>/<sha256 of its weights>/<recipe>/`, with a manifest of the size and
hash of each file. It is built in a sibling folder and moved into place by one rename, under a lock
that the kernel releases when its holder dies: two processes build it once, and one that was killed
leaves only scratch files, which the next builder removes.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.adapters.models.embedders.local_models import LocalModel
from recollect.adapters.models.embedders.packages import sha256_of
from recollect.adapters.models.embedders.weights import Progress, copy_weights, fetch_weights
from recollect.core.errors import ModelUnavailable

MODEL, TOKENIZER, MANIFEST = "model.onnx", "tokenizer.json", "manifest.json"
# Incremented when the built files change but not their vectors: the files are then rebuilt.
BUILD = 2

_SCRATCH = ".building-"
_POLL_SECONDS = 0.1
_FULL = {errno.ENOSPC, errno.EDQUOT}
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


def model_folder(model: LocalModel, models: Path) -> Path:
    """Return where the built model is, or will be."""
    return models / model.weights.sha256 / model.recipe


def is_present(model: LocalModel, models: Path) -> bool:
    """Return whether the model was built, by its manifest alone; whether it is complete is checked
    when it is loaded.
    """
    return (model_folder(model, models) / MANIFEST).exists()


def is_built(model: LocalModel, models: Path) -> bool:
    """Return whether a complete model is in place. Reads every byte: do not call it per text."""
    return _is_whole(model_folder(model, models))


def fetch(
    model: LocalModel,
    models: Path,
    progress: Progress = lambda _step, _share: None,
    origin: Path | None = None,
) -> Path:
    """Return the folder of the built model. If it is missing or damaged, it is built from a
    download, or from the files in `origin`. `progress` is called often; an exception from it aborts
    the work and leaves nothing behind.
    """
    folder = model_folder(model, models)
    if _is_whole(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.parent / "lock", progress):
            if not _is_whole(folder):  # another process may have built it in the meantime
                _build(model, folder, progress, origin)
    except OSError as error:
        raise _explain_failure(error, model, models) from error
    return folder


def require_built(model: LocalModel, models: Path) -> Path:
    """Return the folder of a model that is only downloaded on request."""
    if is_built(model, models):
        return model_folder(model, models)
    exists = model_folder(model, models).exists()
    state = "damaged, or built by another version" if exists else "not on this machine"
    raise ModelUnavailable(
        f"{model.title} is {state}",
        remedy=f"Run `recollect models get {model.name}`: it downloads "
        f"{model.download_size // 1_000_000} MB and builds the model.",
    )


def _build(model: LocalModel, folder: Path, progress: Progress, origin: Path | None) -> None:
    _clear_scratch(folder.parent)
    scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=folder.parent))
    try:
        published = scratch / "published"
        published.mkdir()
        if origin is None:
            fetch_weights(model, published, progress)
        else:
            copy_weights(model, origin, published, progress)
        progress(f"building {model.title}", 0.0)
        build(model, published, scratch / "built")
        progress(f"building {model.title}", 0.9)
        if folder.exists():  # damaged, or it would have been used
            folder.rename(scratch / "damaged")
        (scratch / "built").rename(folder)
        _sync(folder.parent)
        progress(f"building {model.title}", 1.0)
    finally:
        _clear_scratch(folder.parent)


def _clear_scratch(parent: Path) -> None:
    """Remove our scratch folder and those of builders that died; the lock proves that they did. A
    dead builder's pip may still write into one, so what cannot be removed is left to the next
    builder.
    """
    for left in parent.glob(f"{_SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)


def build(model: LocalModel, published: Path, target: Path) -> None:
    """Build a complete model folder from the published files."""
    # `onnx` is only needed here, and takes a quarter of a second to import.
    from recollect.adapters.models.embedders.building import build_files

    target.mkdir()
    build_files(model, published, target / MODEL, target / TOKENIZER)
    files = {
        name: {"size": (target / name).stat().st_size, "sha256": sha256_of(target / name)}
        for name in (MODEL, TOKENIZER)
    }
    manifest = {"model": model.title, "recipe": model.recipe, "build": BUILD, "files": files}
    (target / MANIFEST).write_text(json.dumps(manifest, indent=2))
    for name in (MODEL, TOKENIZER, MANIFEST):
        _sync(target / name)
    _sync(target)


def _is_whole(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        files = manifest["files"]
        is_current = manifest["build"] == BUILD and set(files) == {MODEL, TOKENIZER}
        return is_current and all(
            (folder / name).stat().st_size == entry["size"]
            and sha256_of(folder / name) == entry["sha256"]
            for name, entry in files.items()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def _lock(path: Path, progress: Progress) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        while not _try_lock(descriptor):
            progress("waiting for another process that is building the model", 0.0)
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _explain_failure(error: OSError, model: LocalModel, models: Path) -> ModelUnavailable:
    if error.errno in _FULL:
        need = (2 * model.weights.size + model.download_size) // 1_000_000
        return ModelUnavailable(
            f"The disk is full: {model.title} could not be built in {models}",
            remedy=f"Free {need} MB there (most of it only while building), or move "
            f"RECOLLECT_HOME, then run `recollect models get {model.name}`.",
        )
    if error.errno in _READ_ONLY:
        return ModelUnavailable(
            f"{models} is not writable, so {model.title} cannot be built there ({error})",
            remedy=f"Make {models} writable for this user, or move RECOLLECT_HOME.",
        )
    return ModelUnavailable(
        f"{model.title} could not be built in {models} ({error})",
        remedy=f"Check {models}; you can remove it, and it is built again when needed.",
    )
