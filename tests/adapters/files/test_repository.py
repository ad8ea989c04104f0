"""The project of a folder, read from git's own files in real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

from recollect.wiring.project import current_project

IDENTITY = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]


def git(folder: Path, *arguments: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True, timeout=60
    )


def repository(folder: Path, remote: str | None = None) -> Path:
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "first")
    if remote is not None:
        git(folder, "remote", "add", "origin", remote)
    return folder


def test_clones_worktrees_and_subfolders_are_one_project(tmp_path: Path) -> None:
    first = repository(tmp_path / "first", "git@github.com:ada/engine.git")
    second = repository(tmp_path / "second", "https://token@github.com/ada/engine")
    git(first, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    deep = second / "src" / "deep"
    deep.mkdir(parents=True)
    found = {current_project(place, {}) for place in (first, second, tmp_path / "tree", deep)}
    assert found == {"github.com/ada/engine"}


def test_origin_is_asked_before_other_remotes(tmp_path: Path) -> None:
    place = repository(tmp_path / "fork")
    git(place, "remote", "add", "aaa", "https://example.org/other/thing")
    assert current_project(place, {}) == "example.org/other/thing"
    git(place, "remote", "add", "origin", "https://example.org/my/thing")
    assert current_project(place, {}) == "example.org/my/thing"


def test_without_a_remote_the_main_folder_names_all_worktrees(tmp_path: Path) -> None:
    place = repository(tmp_path / "engine")
    git(place, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    named = current_project(place, {})
    assert named is not None
    assert named.startswith("engine-")
    assert current_project(tmp_path / "tree", {}) == named
    assert current_project(repository(tmp_path / "b" / "engine"), {}) != named


def test_a_clone_of_a_folder_is_the_project_of_that_folder(tmp_path: Path) -> None:
    place = repository(tmp_path / "engine")
    git(tmp_path, "clone", "--quiet", str(place), str(tmp_path / "clone"))
    git(tmp_path, "clone", "--quiet", "--bare", str(place), str(tmp_path / "bare.git"))
    assert current_project(tmp_path / "clone", {}) == current_project(place, {})
    git(place, "remote", "add", "origin", "https://example.org/my/thing")
    assert current_project(tmp_path / "clone", {}) == "example.org/my/thing"


def test_two_clones_of_each_other_end(tmp_path: Path) -> None:
    one = repository(tmp_path / "one", str(tmp_path / "two"))
    repository(tmp_path / "two", str(tmp_path / "one"))
    named = current_project(one, {})
    assert named is not None
    assert named[:4] in ("one-", "two-")


def test_outside_a_repository_there_is_no_project(tmp_path: Path) -> None:
    assert current_project(tmp_path, {}) is None
    assert current_project(tmp_path / "missing", {}) is None


def test_the_environment_overrules(tmp_path: Path) -> None:
    place = repository(tmp_path / "one", "https://example.org/my/thing")
    assert current_project(place, {"RECOLLECT_PROJECT": " shop "}) == "shop"
    assert current_project(place, {"RECOLLECT_PROJECT": " "}) == "example.org/my/thing"


def test_broken_files_name_no_project(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: \xff\x00nowhere\n")
    assert current_project(tmp_path, {}) is None
