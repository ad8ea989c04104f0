"""One repository, many spellings, one project."""

from __future__ import annotations

import pytest

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.memory.project import (
    Repository,
    find_former,
    find_unreached,
    folder_project,
    is_whole,
    project_to_store_in,
    remote_project,
    resolve_project,
    scope_here,
    short_names,
)

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


SHOP, OTHER_SHOP = "github.com/ada/shop", "gitlab.com/bob/shop"
FOLDER = folder_project("notes", "0123456789abcdef")


@pytest.mark.parametrize(
    ("name", "known", "here", "meant"),
    [
        ("shop", [SHOP], None, SHOP),
        ("Shop", [SHOP], None, SHOP),
        ("ada/shop", [SHOP, OTHER_SHOP], None, SHOP),
        ("shop", [], SHOP, SHOP),
        # The folder decides among several.
        ("shop", [SHOP, OTHER_SHOP], OTHER_SHOP, OTHER_SHOP),
        # A name that is taken means that project in every folder.
        ("shop", ["shop", SHOP], SHOP, "shop"),
        (SHOP, [OTHER_SHOP], OTHER_SHOP, SHOP),
        ("notes", [FOLDER], None, FOLDER),
        # Segments are whole words.
        ("op", [SHOP], None, "op"),
        ("hop", [], SHOP, "hop"),
        ("shop", ["github.com/ada/shop/api"], None, "shop"),
        ("new", [SHOP], SHOP, "new"),
    ],
)
def test_a_short_name_means_the_one_project_that_it_fits(
    name: str, known: list[str], here: str | None, meant: str
) -> None:
    assert resolve_project(name, known, here) == meant


def test_an_ambiguous_name_is_refused_with_the_candidates() -> None:
    with pytest.raises(InvalidInput) as refused:
        resolve_project("shop", [SHOP, OTHER_SHOP, "github.com/ada/other"])
    assert f"{SHOP}, {OTHER_SHOP}" in str(refused.value)
    assert "other" not in str(refused.value)


@pytest.mark.parametrize("name", [SHOP, FOLDER, "gitlab.com/group/sub/shop"])
def test_names_made_of_a_repository_are_whole(name: str) -> None:
    assert is_whole(name)


@pytest.mark.parametrize("name", ["shop", "ada/shop", "next.js", "vercel/next.js", "next.js/docs"])
def test_names_that_people_type_are_not_whole(name: str) -> None:
    assert not is_whole(name)


def test_a_memory_belongs_to_the_folders_project_unless_another_is_given() -> None:
    assert project_to_store_in(None, SHOP) == SHOP
    assert project_to_store_in("other", SHOP) == "other"
    assert project_to_store_in(None, SHOP, is_global=True) is None
    assert project_to_store_in(None, None) is None
    with pytest.raises(InvalidInput):
        project_to_store_in("other", SHOP, is_global=True)


def test_a_recall_in_a_folder_is_about_its_project_and_global_memories() -> None:
    assert scope_here(EVERYWHERE, SHOP) == Scope(project=SHOP, with_global=True)
    assert scope_here(EVERYWHERE, None) == EVERYWHERE
    named, only_global = Scope(project="other"), Scope(with_global=True)
    assert scope_here(named, SHOP) == named
    assert scope_here(only_global, SHOP) == only_global


def test_short_names_are_the_shortest_unique_ones() -> None:
    listed = ("github.com/ada/shop", "github.com/bob/shop", "github.com/ada/site", "notes-1a2b3c4d")
    assert short_names(listed) == {
        "github.com/ada/shop": "ada/shop",
        "github.com/bob/shop": "bob/shop",
        "github.com/ada/site": "site",
        "notes-1a2b3c4d": "notes",
    }
    both = ("shop", "github.com/ada/shop", "notes-1a2b3c4d", "notes-5a6b7c8d")
    assert short_names(both) == {
        "shop": "shop",
        "github.com/ada/shop": "ada/shop",
        "notes-1a2b3c4d": "notes-1a2b3c4d",
        "notes-5a6b7c8d": "notes-5a6b7c8d",
    }


def test_a_former_name_means_the_project_that_took_it_over() -> None:
    former = {"shop-0a1b2c3d": SAME, "gitlab.com/ada/motor": SAME}
    assert resolve_project("shop-0a1b2c3d", [SAME], former=former) == SAME
    assert resolve_project("motor", [SAME], former=former) == SAME
    assert resolve_project("shop", [SAME, "lab"], "lab", former) == SAME
    assert resolve_project("motor", ["github.com/bob/motor"], "gitlab.com/ada/motor", former) == (
        SAME
    )
    with pytest.raises(InvalidInput, match="any of these projects"):
        resolve_project("motor", [SAME, "github.com/bob/motor"], former=former)


def test_a_repository_is_known_again_under_another_name() -> None:
    seen = Repository("/home/ada/shop/.git", 1, "github.com/ada/shop")
    before = seen._replace(project="shop-0a1b2c3d")
    elsewhere = before._replace(path="/old/shop/.git")

    def gone(_: Repository) -> None:
        return None

    assert find_former(seen, [before], gone) == "shop-0a1b2c3d"  # another remote
    assert find_former(seen, [elsewhere], gone) == "shop-0a1b2c3d"  # another folder
    assert find_former(seen, [seen], gone) is None
    assert find_former(seen, [], gone) is None
    # A new repository in the place of another one, or one whose age is not known.
    assert find_former(seen, [before._replace(birth=2)], gone) is None
    assert find_former(seen._replace(birth=0), [elsewhere._replace(birth=0)], gone) is None


def test_what_another_folder_still_has_is_not_taken_over() -> None:
    seen = Repository("/home/ada/copy/.git", 1, "github.com/ada/fork")
    original = Repository("/home/ada/shop/.git", 1, SAME)
    copied, clone = seen._replace(project=SAME), Repository("/home/ada/clone/.git", 2, SAME)
    now = {one.path: one.project for one in (original, clone)}

    def project_now(one: Repository) -> str | None:
        return now.get(one.path)

    assert find_former(seen, [original], project_now) is None  # a copy is another repository
    assert find_former(seen, [original, copied], project_now) is None
    assert find_former(seen, [clone, copied], project_now) is None
    now[clone.path] = "github.com/ada/fork"
    assert find_former(seen, [clone, copied], project_now) == SAME
    assert find_former(seen, [copied], project_now) == SAME


def test_projects_without_a_folder_are_found() -> None:
    known = [Repository("/a/.git", 1, "lost"), Repository("/b/.git", 2, "kept")]
    held = ["lost", "kept", "never seen"]
    assert find_unreached(known, held, lambda one: {"/b/.git": "kept"}.get(one.path)) == {
        "lost": "/a/.git"
    }
