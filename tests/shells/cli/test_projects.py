"""One project in every shell: what one of them stores, the others find in the same repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.adapters.agents.agent import ScriptedAgent
from tests.adapters.files.test_repository import git, repository
from tests.serving import Running
from tests.shells.cli.commands import Cli, client_of

from recollect import Client, Scope

SHOP = "github.com/ada/shop"
FRIDAY = "The staging database is read-only on Fridays."
QUESTION = "Can I write to the staging database on a Friday?"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in which the commands are run."""
    folder = repository(tmp_path / "shop", "git@github.com:ada/shop.git")
    monkeypatch.chdir(folder)
    return folder


def contents(cli: Cli, *arguments: str) -> set[str]:
    return {memory["content"] for memory in cli.json("list", *arguments)["memories"]}


@pytest.mark.parametrize("named", [(), ("--project", "shop"), ("--project", SHOP)])
def test_hooks_find_what_was_stored_in_their_repository(
    cli: Cli, shop: Path, named: tuple[str, ...]
) -> None:
    assert cli.json("remember", FRIDAY, *named)["project"] == SHOP
    assert FRIDAY in ScriptedAgent(cli.home, shop).ask(QUESTION)


def test_remember_names_the_project(cli: Cli, shop: Path) -> None:
    assert f" in {SHOP} (version 1)" in cli("remember", FRIDAY).stdout
    assert " (version 1)" in (output := cli("remember", "Tea is in the shed.", "--global").stdout)
    assert " in " not in output


def test_a_recall_in_a_repository_finds_its_memories_and_global_ones(
    cli: Cli, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("remember", FRIDAY)
    cli("remember", "The staging kettle is everybody's.", "--global")
    cli("remember", "Their staging database moves.", "--project", "gitlab.com/bob/lab")
    found = cli.json("recall", "staging")
    assert {hit["memory"]["project"] for hit in found["hits"]} == {SHOP, None}
    assert (found["project"], found["with_global"]) == (SHOP, True)
    note, *_ = cli("recall", "staging").stderr.splitlines()
    assert note == f"searched {SHOP} and global memories; use --everywhere to search all projects"
    assert f"nothing found in {SHOP} and global memories" in cli("recall", "zebra").stderr
    assert len(cli.json("recall", "staging", "--everywhere")["hits"]) == 3
    assert len(cli.json("recall", "staging", "--global")["hits"]) == 1
    assert len(cli.json("recall", "staging", "--project", "lab")["hits"]) == 1
    assert len(contents(cli)) == 2
    assert len(contents(cli, "--everywhere")) == 3
    monkeypatch.chdir("/")
    assert len(contents(cli)) == 3
    assert contents(cli, "--project", "shop") == {FRIDAY}
    assert "looked" not in cli("recall", "staging").stderr


def test_an_ambiguous_project_is_an_error_that_lists_the_candidates(cli: Cli) -> None:
    for project in (SHOP, "gitlab.com/bob/shop"):
        cli.json("remember", f"It is {project}.", "--project", project)
    for command in (
        ("recall", "it"),
        ("list",),
        ("remember", "A third one."),
        ("export",),
        ("why", "0000", "--query", "it"),
    ):
        result = cli(*command, "--project", "shop")
        assert result.exit_code == 2, command
        assert f"{SHOP}, gitlab.com/bob/shop" in result.stderr
    assert cli.json("remember", "A third one.", "--project", "ada/shop")["project"] == SHOP


def test_options_that_name_different_scopes_exclude_each_other(cli: Cli) -> None:
    for command in (("recall", "x"), ("list",)):
        assert cli(*command, "--global", "--everywhere").exit_code == 2
        assert cli(*command, "--project", "shop", "--everywhere").exit_code == 2
    assert cli("remember", "x", "--project", "shop", "--global").exit_code == 2


def test_an_update_moves_a_memory_by_a_short_name_and_out_of_all_projects(
    cli: Cli, shop: Path
) -> None:
    id = cli.json("remember", FRIDAY, "--global")["id"]
    assert cli.json("update", id, "--project", "shop")["project"] == SHOP
    assert cli.json("update", id, "--global")["project"] is None
    cli.json("update", id, "--project", "shop")
    assert cli.json("update", id, "--project", "")["project"] is None


def test_an_import_files_by_a_short_name_and_an_export_takes_everything(
    cli: Cli, shop: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("- Tea is in the shed.\n")
    cli.json("import", str(notes), "--project", "shop")
    cli.json("remember", "Elsewhere it rains.", "--project", "gitlab.com/bob/lab")
    assert contents(cli, "--project", SHOP) == {"Tea is in the shed."}
    assert cli.json("export", str(tmp_path / "all.jsonl"))["exported"] == 2


@pytest.mark.parametrize("sync", ["on", "off"])
def test_a_server_knows_short_names_too(
    server: Running, tmp_path: Path, shop: Path, monkeypatch: pytest.MonkeyPatch, sync: str
) -> None:
    client = client_of(server, tmp_path / "home")
    cli = Cli(client.home, {**client.settings, "RECOLLECT_SYNC": sync})
    assert cli.json("remember", FRIDAY, "--project", "shop")["project"] == SHOP
    monkeypatch.chdir("/")
    assert cli.json("remember", "Tea is in the shed.", "--project", "shop")["project"] == SHOP
    found = cli.json("recall", "staging database", "--project", "shop")
    assert [hit["memory"]["content"] for hit in found["hits"]] == [FRIDAY]
    assert found["project"] == SHOP


def test_a_hook_whose_project_is_named_shortly_finds_it(
    server: Running, tmp_path: Path, cli: Cli
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    there = client_of(server, tmp_path / "other home")
    for shell in (cli, there):
        shell.json("remember", FRIDAY, "--project", SHOP)
        agent = ScriptedAgent(
            shell.home, elsewhere, settings={**shell.settings, "RECOLLECT_PROJECT": "shop"}
        )
        assert FRIDAY in agent.ask(QUESTION)


def test_a_python_program_works_in_its_folder_as_the_command_does(
    cli: Cli, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_HOME", str(cli.home))
    cli("remember", "Elsewhere the staging database rests.", "--project", "gitlab.com/bob/lab")
    with Client() as client:
        assert client.remember(FRIDAY).project == SHOP
        assert client.remember("Tea is in the shed.", is_global=True).project is None
        assert client.remember("Deploys use make.", project="shop").project == SHOP
        assert {hit.memory.project for hit in client.recall("staging").hits} == {SHOP}
        assert len(client.recall("staging", scope=Scope()).hits) == 2
        assert len(client.page(Scope(project="lab")).memories) == 1
        assert len(client.page().memories) == 3
        assert client.brief().project == SHOP
    with Client(home=cli.home) as own:  # a program with a store of its own works in no project
        assert own.remember("Coffee is in the attic.").project is None
        assert len(own.page().memories) == 5


def test_listings_name_the_projects_where_there_are_several(
    cli: Cli, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("remember", FRIDAY)
    for command in (("list",), ("recall", "staging")):
        assert "project" not in cli(*command).stdout.splitlines()[0]
    cli("remember", "The staging kettle is everybody's.", "--global")
    cli("remember", "Their staging database moves.", "--project", "gitlab.com/bob/lab")
    for command in (("list",), ("recall", "staging")):
        head, _, *lines = cli(*command).stdout.splitlines()
        assert head.split()[-2:] == ["project", "memory"]
        assert [line for line in lines if " shop " in line and "The staging" in line]
        assert [line for line in lines if " (global) " in line and "kettle" in line]
        assert " lab " in cli(*command, "--everywhere").stdout
        monkeypatch.setenv("COLUMNS", "60")
        narrow = cli(*command, "--everywhere").stdout
        assert all(memory["id"][-4:] in narrow for memory in cli.json("list")["memories"])
        monkeypatch.delenv("COLUMNS")


@pytest.mark.parametrize(
    "command",
    [
        ("remember", FRIDAY),
        ("recall", "staging"),
        ("list",),
        ("export",),
        ("import", "-"),
        ("memory-tool", "{}"),
        ("keys", "create"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_project_is_refused(cli: Cli, command: tuple[str, ...], name: str) -> None:
    code, error = cli.error(*command, "--project", name)
    assert (code, error["detail"]) == (2, "--project is empty")
    assert "omit --project" in error["remedy"]


def test_an_empty_project_takes_a_memory_out_of_its_project(cli: Cli, shop: Path) -> None:
    stored = cli.json("remember", FRIDAY)
    assert cli.json("update", stored["id"], "--project", "")["project"] is None


LOCAL = "Coupons are checked by the till."


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without a remote, in which the commands are run."""
    folder = repository(tmp_path / "till")
    monkeypatch.chdir(folder)
    return folder


def test_memories_follow_a_repository_that_gets_a_remote(cli: Cli, local: Path) -> None:
    before = cli.json("remember", LOCAL)["project"]
    git(local, "remote", "add", "origin", "git@github.com:ada/till.git")
    # Before anything has moved, a hook finds them.
    assert LOCAL in ScriptedAgent(cli.home, local).ask("Who checks the coupons at the till?")
    first, second = cli("list"), cli("list")
    told = "the project of this folder is github.com/ada/till now; its memories came along from"
    assert f"{told} {before}" in first.stderr
    assert told not in second.stderr
    assert LOCAL in first.stdout
    assert LOCAL in second.stdout
    assert cli.json("recall", "coupons")["project"] == "github.com/ada/till"
    assert contents(cli, "--project", before) == {LOCAL}
    # A changed remote, and one that is changed back.
    git(local, "remote", "set-url", "origin", "git@gitlab.com:ada/till.git")
    assert contents(cli) == {LOCAL}
    git(local, "remote", "set-url", "origin", "git@github.com:ada/till.git")
    assert contents(cli) == {LOCAL}
    listed = cli.json("project", "list")["projects"]
    assert listed == {
        "github.com/ada/till": {
            "memories": 1,
            "folders": [str(local)],
            "former_names": sorted([before, "gitlab.com/ada/till"]),
        }
    }


def test_memories_follow_a_renamed_folder(
    cli: Cli, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cli.json("remember", LOCAL)["project"]
    moved = local.rename(local.with_name("register"))
    monkeypatch.chdir(moved)
    assert LOCAL in ScriptedAgent(cli.home, moved).ask("Who checks the coupons at the till?")
    after = cli.json("list")
    assert [one["content"] for one in after["memories"]] == [LOCAL]
    assert after["project"].startswith("register-")
    assert contents(cli, "--project", before) == {LOCAL}
    git(moved, "worktree", "add", "--quiet", str(moved.with_name("tree")))
    monkeypatch.chdir(moved.with_name("tree"))
    assert contents(cli) == {LOCAL}


def test_a_folder_that_still_has_the_name_keeps_its_memories(
    cli: Cli, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(local, "remote", "add", "origin", "git@github.com:ada/till.git")
    cli.json("remember", LOCAL)
    fork = tmp_path / "fork"
    shutil.copytree(local, fork, copy_function=shutil.copy2)
    clone = repository(tmp_path / "clone", "https://github.com/ada/till")
    for folder in (fork, clone):
        monkeypatch.chdir(folder)
        assert contents(cli) == {LOCAL}
        git(folder, "remote", "set-url", "origin", f"git@github.com:bob/{folder.name}.git")
        result = cli("list")
        assert LOCAL not in result.stdout
        assert "its memories stay in github.com/ada/till, which another folder has" in result.stderr
        assert "recollect project rename github.com/ada/till github.com/bob/" in result.stderr
        assert "another folder" not in cli("list").stderr
    monkeypatch.chdir(local)
    assert contents(cli) == {LOCAL}
    # One of them has memories of its own when the next one is told.
    git(fork, "remote", "set-url", "origin", "git@github.com:ada/till.git")
    monkeypatch.chdir(fork)
    cli("remember", "Another.", "--project", "github.com/bob/other")
    git(fork, "remote", "set-url", "origin", "git@github.com:bob/other.git")
    advice = cli("list").stderr.rpartition("run `recollect ")[2].partition("`")[0]
    assert advice == "project merge github.com/ada/till github.com/bob/other"
    assert cli(*advice.split()).exit_code == 0
    assert LOCAL in contents(cli)


def test_a_project_that_a_person_named_keeps_that_name(
    cli: Cli, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = cli.json("remember", LOCAL)["project"]
    cli("project", "rename", project, "pay")
    git(local, "remote", "add", "origin", "git@github.com:ada/till.git")
    first = cli("list")
    assert LOCAL in first.stdout
    assert "the project of this folder" not in first.stderr
    # A clone with another remote has nothing of it, and is told so.
    fork = repository(tmp_path / "fork", "git@github.com:ada/till.git")
    monkeypatch.chdir(fork)
    assert contents(cli) == {LOCAL}
    git(fork, "remote", "set-url", "origin", "git@github.com:bob/till.git")
    result = cli("list")
    assert LOCAL not in result.stdout
    assert "its memories stay in pay, which another folder has" in result.stderr


def test_a_deleted_folder_keeps_its_memories_and_doctor_names_its_project(
    cli: Cli, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = cli.json("remember", LOCAL)["project"]
    assert "projects" not in {one["name"] for one in cli.json("doctor")["checks"]}
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(local)
    # Another repository in its place.
    monkeypatch.chdir(repository(local, "git@github.com:ada/till.git"))
    assert contents(cli) == set()
    (check,) = [one for one in cli.json("doctor")["checks"] if one["name"] == "projects"]
    assert check["status"] == "warn"
    assert f"no folder has the project {project} any more" in check["detail"]
    assert f"recollect project rename {project} NAME" in check["remedy"]


def test_a_list_of_projects_names_the_folders_that_have_them(
    cli: Cli, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = cli.json("remember", LOCAL)["project"]
    clone = repository(tmp_path / "clone", str(local))
    monkeypatch.chdir(clone)
    cli("list")
    cli("remember", "Elsewhere it rains.", "--project", "gitlab.com/bob/lab")
    listed = cli.json("project", "list")["projects"]
    assert listed[project]["folders"] == sorted([str(clone), str(local)])
    assert listed["gitlab.com/bob/lab"]["folders"] == []
    cli("project", "rename", project, "pay")
    shutil.rmtree(clone)
    monkeypatch.chdir(tmp_path)
    assert cli.json("project")["projects"]["pay"]["folders"] == [str(local)]
    monkeypatch.setenv("COLUMNS", "400")
    assert str(local) in cli("project", "list").stdout


def test_projects_are_renamed_and_joined(cli: Cli) -> None:
    for number, project in enumerate((SHOP, "lab", "lab"), start=1):
        cli.json("remember", f"Fact {number} of {project}.", "--project", project)
    taken = cli("project", "rename", "lab", SHOP)
    assert taken.exit_code != 0
    assert "recollect project merge" in taken.stderr
    assert cli("project", "rename", "nowhere", "else").exit_code != 0
    assert cli("project", "merge", "lab", "nowhere").exit_code != 0
    told = cli("project", "rename", "lab", "gitlab.com/ada/lab").stdout
    assert told == "2 memories moved from lab to gitlab.com/ada/lab\n"
    assert len(contents(cli, "--project", "lab")) == 2
    assert cli.json("project", "merge", "lab", "shop") == {
        "project": "gitlab.com/ada/lab",
        "name": SHOP,
        "memories": 2,
    }
    assert len(contents(cli, "--project", "lab")) == 3
    assert cli.json("remember", "Fact 4.", "--project", "lab")["project"] == SHOP
    listed = cli("project", "list").stdout
    assert "lab, gitlab.com/ada/lab" in listed or "gitlab.com/ada/lab, lab" in listed


def test_short_ids_and_pages_are_typed_by_hand(cli: Cli) -> None:
    stored = [cli.json("remember", f"Fact number {number}.") for number in range(5)]
    first = cli("list", "--limit", "2")
    last = stored[3]["id"]
    short = first.stdout.splitlines()[-1].split()[0]
    assert 4 <= len(short) <= 8
    assert last.endswith(short)
    assert first.stderr.endswith(f"for more, add --after {short}\n")
    cli("remember", "One that comes in between.")
    assert cli.json("show", short)["id"] == last
    rest = cli.json("list", "--after", short)
    assert [one["id"] for one in rest["memories"]] == [one["id"] for one in stored[2::-1]]
    cli("forget", short)
    assert cli.json("list", "--after", short)["memories"] == rest["memories"]
    cursor = cli.json("list", "--limit", "4")["next_cursor"]
    assert len(cli.json("list", "--after", cursor)["memories"]) == 1
