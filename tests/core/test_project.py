"""One repository, many spellings, one project."""

from __future__ import annotations

import pytest

from recollect.core.project import folder_project, remote_project

SAME = "github.com/ada/engine"


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/ada/engine",
        "https://github.com/ada/engine.git",
        "https://github.com/ada/engine/",
        "https://github.com/Ada/Engine.git/",
        "https://ada:ghp_secret@github.com/ada/engine.git",
        "https://GitHub.com:443/ada//engine.git",
        "http://github.com./ada/engine",
        "git@github.com:ada/engine.git",
        "github.com:ada/engine",
        "ssh://git@github.com/ada/engine.git",
        "ssh://git@github.com:2222/ada/engine",
        "git+ssh://git@github.com/ada/engine.git",
        "git://github.com/ada/engine",
        "  git@github.com:/ada/engine.git\n",
    ],
)
def test_all_spellings_of_an_address_are_one_project(url: str) -> None:
    assert remote_project(url) == SAME


@pytest.mark.parametrize(
    "url",
    [
        "/srv/git/engine.git",
        "../engine",
        "file:///srv/git/engine.git",
        "C:/git/engine",
        "",
        "https://",
    ],
)
def test_a_place_on_this_machine_is_no_address(url: str) -> None:
    assert remote_project(url) is None


def test_other_repositories_are_other_projects() -> None:
    urls = ["git@github.com:ada/engine2", "git@gitlab.com:ada/engine", "git@github.com:eve/engine"]
    assert len({SAME, *map(remote_project, urls)}) == 4


def test_no_credential_and_no_control_reaches_the_name() -> None:
    named = remote_project("https://user:p%40ss@host.example/a\x1b[31m/b.git")
    assert named == "host.example/a[31m/b"


def test_a_folder_is_named_by_its_name_and_its_place() -> None:
    assert folder_project("engine", "0123456789abcdef") == "engine-01234567"
    assert folder_project("", "0123456789abcdef") == "folder-01234567"
