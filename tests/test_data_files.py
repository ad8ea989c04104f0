"""Word lists, SQL, examples and other files that are not modules: in the wheels, and in use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from recollect.resources import read_list, read_lists

ROOT = Path(__file__).parents[1]
PACKAGES = {"recollect": ROOT / "src", "recollect_bench": ROOT / "bench"}
# Found by their folder, and not by name.
MIGRATIONS = "recollect/adapters/postgres/migrations/"
READ = (".json", ".sql", ".toml", ".txt")


def data_files(package: str) -> set[str]:
    root = PACKAGES[package]
    found = (path for path in (root / package).rglob("*") if path.is_file())
    return {
        path.relative_to(root).as_posix()
        for path in found
        if path.suffix != ".py" and path.parent.name != "__pycache__"
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_the_wheel_has_every_data_file(package: str, tmp_path: Path) -> None:
    pyproject = ROOT if package == "recollect" else PACKAGES[package]
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    done = subprocess.run([*build, tmp_path], cwd=pyproject, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        assert not data_files(package) - {*archive.namelist()}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_data_file_is_read(package: str) -> None:
    sources = [path.read_text() for path in (PACKAGES[package] / package).rglob("*.py")]
    unread = {
        name
        for name in data_files(package)
        if name.endswith(READ)
        and not name.startswith(MIGRATIONS)
        and not any(f'"{Path(name).name}"' in source for source in sources)
    }
    assert not unread


def test_lists_have_distinct_items() -> None:
    for name in data_files("recollect"):
        if name.endswith(".txt"):
            folder, _, file = name.rpartition("/")
            package = folder.replace("/", ".")
            __import__(package)
            for items in read_lists(package, file).values() or [read_list(package, file)]:
                assert items
                assert [item.strip() for item in items] == list(items)


def test_comments_and_empty_lines_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some_package").mkdir()
    (tmp_path / "some_package" / "__init__.py").touch()
    (tmp_path / "some_package" / "words.txt").write_text(
        "# What these are.\n\n[one]\na\n# Why b.\nb c\n\n[two]\nd#\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    __import__("some_package")
    assert read_lists("some_package", "words.txt") == {"one": ("a", "b c"), "two": ("d#",)}
