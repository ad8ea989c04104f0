"""Memories leave and come back as they were: by file, between stores, and through a server."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.core.imports.test_importers import FILES
from tests.serving import running
from tests.shells.cli.commands import Cli, client_of

from recollect.core.imports.jsonl import HEADER, to_line
from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import Memory

ODD = "tabs\there, “quotes”, \u2028 a separator, 𝄞 and a back\\slash\nsecond line"


def fill(cli: Cli) -> Cli:
    first = cli.json(
        "remember", ODD, "--tag", "a", "--tag", "ü", "--keyword", "k", "--project", "p"
    )
    cli.json("update", first["id"], "--importance", "0.25")
    talk = cli.json("remember", "an episode", "--category", "episode", "--session", "s1")
    secret = cli.json("remember", "the door code is secret", "--sensitive")
    forgotten = cli.json("remember", "an old address")
    cli.json("forget", forgotten["id"])
    cli.json("link", first["id"], "supersedes", secret["id"])
    cli.json("link", first["id"], "see_also", talk["id"])
    return cli


def export(cli: Cli, path: Path, *options: str) -> bytes:
    cli.json("export", str(path), "--force", *options)
    return path.read_bytes()


def test_a_round_trip_gives_the_same_bytes(tmp_path: Path) -> None:
    there = fill(Cli(tmp_path / "there"))
    everything = ("--sensitive", "--forgotten")
    first = export(there, tmp_path / "first.jsonl", *everything)
    assert len(first.splitlines()) == 1 + 4
    back = Cli(tmp_path / "back")
    done = back.json("import", str(tmp_path / "first.jsonl"))
    assert (done["new"], done["same"], done["failed"]) == (4, 0, 0)
    assert export(back, tmp_path / "second.jsonl", *everything) == first
    again = back.json("import", str(tmp_path / "first.jsonl"))
    assert (again["new"], again["same"]) == (0, 4)
    # What is forgotten stays forgotten, what is sensitive stays sensitive.
    assert back.json("status")["stats"]["memories"] == 3
    (hit,) = back.json("recall", "door code")["hits"]
    assert [link["kind"] for link in hit["memory"]["links"]] == ["see_also", "supersedes"]
    assert back.json("show", hit["stands_for"][0])["is_sensitive"]


@pytest.mark.parametrize("options", [(), ("--forever", "--yes")])
def test_what_was_removed_since_is_not_imported_silently(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    here, there = Cli(tmp_path / "here"), Cli(tmp_path / "there")
    notes = tmp_path / "notes.md"
    notes.write_text("- The ferry leaves at six in the morning.\n- The pier is behind the house.\n")
    there.json("import", str(notes), "--global")
    export(there, tmp_path / "there.jsonl")
    first = here.json("remember", "The ferry leaves at six in the morning.", "--global")
    here.json("forget", first["id"], *options)
    for file in (tmp_path / "there.jsonl", notes):
        done = here("import", str(file), "--global", "--json")
        report = json.loads(done.stdout)
        assert (report["new"], report["failed"]) == (1, 1), report
        assert "erased, forgotten or replaced" in done.stdout + done.stderr
    listed = {memory["content"] for memory in here.json("list")["memories"]}
    assert listed == {"The pier is behind the house."}
    here.json("remember", first["content"], "--global")
    assert first["content"] in {memory["content"] for memory in here.json("list")["memories"]}


def test_successor_replaces_its_memory_after_a_round_trip(tmp_path: Path) -> None:
    there = Cli(tmp_path / "there")
    old = there.json("remember", "the staging port is 7000")["id"]
    new = there.json("remember", "the staging port is 7001", "--supersedes", old)["id"]
    export(there, tmp_path / "file.jsonl")
    back = Cli(tmp_path / "back")
    back.json("import", str(tmp_path / "file.jsonl"))
    (hit,) = back.json("recall", "staging port")["hits"]
    assert (hit["memory"]["id"], hit["stands_for"]) == (new, [old])


def test_stdout_holds_the_same_bytes_as_a_file(tmp_path: Path) -> None:
    cli = fill(Cli(tmp_path / "home"))
    result = cli("export")
    assert result.exit_code == 0
    assert result.stdout.encode() == export(cli, tmp_path / "file.jsonl")
    assert "left out 1 sensitive" in result.stderr
    header = json.loads(result.stdout.splitlines()[0])
    assert header == {"format": "recollect-export", "version": 1}


def test_a_file_is_its_owners_and_is_not_overwritten(tmp_path: Path) -> None:
    cli = fill(Cli(tmp_path / "home"))
    path = tmp_path / "file.jsonl"
    document = cli.json("export", str(path))
    assert document == {"file": str(path), "exported": 2, "left_out": 1}
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    code, error = cli.error("export", str(path), "--project", "p")
    assert code == 2
    assert "--force" in error["remedy"]
    assert path.read_bytes() == before
    assert cli.json("export", str(path), "--project", "p", "--force")["exported"] == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    code, _ = cli.error("export", str(tmp_path / "no" / "folder.jsonl"))
    assert code == 6


def test_markdown_for_people(tmp_path: Path) -> None:
    cli = fill(Cli(tmp_path / "home"))
    page = cli("export", "--format", "md").stdout
    assert page.startswith("# Memories\n")
    assert "- an episode\n  <small>" in page
    assert "session s1" in page
    assert "door code" not in page
    assert cli.error("export", str(tmp_path / "x"), "--format", "xml")[0] == 2


def test_what_is_here_is_not_overwritten_by_an_older_file(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home")
    memory = cli.json("remember", "the harbour opens at six")
    export(cli, tmp_path / "old.jsonl")
    cli.json("update", memory["id"], "--content", "the harbour opens at seven")
    assert cli.json("import", str(tmp_path / "old.jsonl"))["kept"] == 1
    assert cli.json("show", memory["id"])["content"] == "the harbour opens at seven"


def test_bad_lines_are_named_and_the_rest_is_imported(tmp_path: Path) -> None:
    cli = fill(Cli(tmp_path / "home"))
    lines = export(cli, tmp_path / "file.jsonl").splitlines()
    good = json.loads(lines[1])
    bad = [
        b"{not json",
        b'{"id": 1}',
        json.dumps({**good, "id": "0193a5f0-7c1e-4d3a-9a55-2f0e6b7c8d9e"}).encode(),
        json.dumps({**good, "content": "nul \x00"}).encode(),
        json.dumps({**good, "importance": 7}).encode(),
        json.dumps({**good, "created_at": "yesterday"}).encode(),
        json.dumps({**good, "surprise": 1}).encode(),
        json.dumps({**good, "links": [{"kind": "see_also"}]}).encode(),
        json.dumps({**good, "links": [{"kind": "see_also", "target": good["id"]}]}).encode(),
        b"\xff\xfe",
    ]
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(b"\r\n".join([lines[0], lines[1], *bad, lines[2]]))
    fresh = Cli(tmp_path / "fresh")
    result = fresh("import", str(path), "--json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert (document["new"], document["failed"]) == (2, len(bad))
    assert sorted(failure["place"] for failure in document["failures"]) == sorted(
        f"line {number}" for number in range(3, 3 + len(bad))
    )
    assert all(
        failure["remedy"] and failure["file"] == str(path) for failure in document["failures"]
    )
    shown = fresh("import", str(path))
    assert shown.exit_code == 2
    assert f"{path}, line 3: the line is not JSON" in shown.stderr


@pytest.mark.parametrize(
    ("header", "word"),
    [({"format": "recollect-export", "version": 2}, "Upgrade"), ({"id": "x"}, "first line")],
)
def test_an_export_of_another_version_is_refused(
    tmp_path: Path, header: dict[str, object], word: str
) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text(json.dumps(header) + "\n")
    result = Cli(tmp_path / "home")("import", str(path), "--format", "recollect")
    assert result.exit_code == 2
    assert word in result.stderr


@pytest.mark.parametrize(
    ("name", "new", "sensitive"),
    [
        ("memory.jsonl", 7, 0),
        ("mem0.json", 3, 1),
        ("conversations.json", 3, 0),
        ("notes.md", 7, 0),
        ("CLAUDE.md", 3, 0),
        ("claude-home", 2, 0),
    ],
)
def test_foreign_files_twice_add_nothing(
    tmp_path: Path, name: str, new: int, sensitive: int
) -> None:
    cli = Cli(tmp_path / "home")
    path = str(FILES / name)

    def import_counts(*options: str) -> tuple[int, int, int]:
        document = json.loads(cli("import", path, *options, "--json").stdout)
        return document["new"], document["same"], document["sensitive"]

    assert import_counts("--dry-run") == (new, 0, sensitive)
    assert cli.json("status")["stats"]["memories"] == 0
    assert import_counts() == (new, 0, sensitive)
    assert import_counts() == (0, new, 0)
    assert import_counts("--dry-run") == (0, new, 0)
    assert cli.json("status")["stats"]["memories"] == new


def test_short_ids_of_imported_memories_differ(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home")
    cli.json("import", str(FILES / "notes.md"), "--project", "shop")
    memories = cli.json("list", "--project", "shop")["memories"]
    assert len({memory["id"][:13] for memory in memories}) == len(memories) == 7


def test_through_a_server_that_is_asked_directly(tmp_path: Path, database_url: str) -> None:
    everything = ("--sensitive", "--forgotten")
    first = export(fill(Cli(tmp_path / "local")), tmp_path / "first.jsonl", *everything)
    with running(database_url, tmp_path / "server") as server:
        client = client_of(server, tmp_path / "client")
        done = client.json("import", str(tmp_path / "first.jsonl"))
        assert (done["new"], done["failed"]) == (4, 0)
        assert export(client, tmp_path / "second.jsonl", *everything) == first
        assert client.json("import", str(tmp_path / "first.jsonl"))["same"] == 4
        other = client_of(server, tmp_path / "other")
        assert other.json("import", str(tmp_path / "first.jsonl"))["new"] == 4
        assert export(client, tmp_path / "third.jsonl", *everything) == first


def test_what_is_imported_is_synced(tmp_path: Path, database_url: str) -> None:
    with running(database_url, tmp_path / "server") as server:
        key = server.new_key()
        named = {"RECOLLECT_API_URL": server.url, "RECOLLECT_API_KEY": key}
        here = Cli(tmp_path / "here", named)
        first = export(fill(Cli(tmp_path / "local")), tmp_path / "first.jsonl", "--forgotten")
        assert here("import", str(tmp_path / "first.jsonl")).exit_code == 0
        here.json("sync")
        there = client_of(server, tmp_path / "there", key)
        assert export(there, tmp_path / "second.jsonl", "--forgotten") == first


def test_an_export_does_not_replace_a_pipe(cli: Cli, tmp_path: Path) -> None:
    cli.json("remember", "a text")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code, error = cli.error("export", str(pipe), "--force")
    assert (code, error["field"]) == (2, "file")
    assert pipe.is_fifo()


def test_a_pipe_in_a_folder_is_not_waited_for(cli: Cli, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "plain.md").write_text("- the harbour opens at six\n")
    (notes / "gone.md").symlink_to(notes / "nowhere")
    os.mkfifo(notes / "pipe.md")
    done = cli.process("import", str(notes), "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["new"]) == (2, 1)
    assert [Path(failure["file"]).name for failure in report["failures"]] == ["gone.md"]


def test_import_of_a_long_text_names_the_format_that_keeps_it_together(
    cli: Cli, tmp_path: Path
) -> None:
    path = tmp_path / "book.txt"
    path.write_text(
        "\n\n".join(
            f"Chapter {number} is about the harbour.\nIt says what ship {number} carried."
            for number in range(60)
        )
    )
    done = cli("import", str(path))
    assert "imported 60 memories" in done.stdout
    assert "--format document" in done.stderr
    again = cli("import", str(path), "--format", "document")
    assert "imported 1 memory" in again.stdout
    assert "--format document" not in again.stderr


def test_help_speaks_of_the_memories_that_are_imported(cli: Cli) -> None:
    shown = " ".join(cli("import", "--help").stdout.split())
    assert "Project to store the memories in" in shown
    assert "of a server" not in cli("graph", "--help").stdout


def test_import_says_what_a_file_was_read_as(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text('{"content": "Nadia prefers tea.", "tags": ["drinks"]}\n')
    done = cli.json("import", str(path))
    (detected,) = done["formats"]
    assert (detected["file"], detected["format"], detected["confidence"]) == (
        str(path),
        "jsonl",
        "certain",
    )
    (stored,) = cli.json("list")["memories"]
    assert stored["tags"] == ["drinks"]
    plain = tmp_path / "facts.txt"
    plain.write_text("The office is in Odense.\nReleases go out on Tuesdays.\n")
    shown = cli("import", str(plain), "--dry-run").stderr
    assert "facts.txt: read as lines (guess:" in shown
    assert "--format" in shown
    code, error = cli.error("import", str(path), "--format", "yaml")
    assert code == 2
    assert "claude-code" in error["remedy"]
    assert "jsonl" in error["remedy"]


def listed_ids(shown: str) -> list[str]:
    """Return the ids in the first column of a listing."""
    found = [re.match(r"[0-9a-f-]{4,36}(?= )", line) for line in shown.splitlines()[2:]]
    return [match[0] for match in found if match]


def test_listed_ids_can_be_shown_after_an_import(cli: Cli, tmp_path: Path) -> None:
    """Even where an export contains ids of the same millisecond."""
    moment = datetime(2025, 3, 2, tzinfo=UTC)
    exact = [
        Memory(
            id=uuid7(moment, os.urandom(10)),
            owner="me",
            content=f"the boat {n}",
            created_at=moment,
            updated_at=moment,
        )
        for n in range(5)
    ]
    own = tmp_path / "own.jsonl"
    own.write_text("\n".join([HEADER, *map(to_line, exact)]))
    simple = tmp_path / "simple.jsonl"
    records = [{"content": f"the harbour {n}", "created_at": "2025-03-02"} for n in range(5)]
    simple.write_text("\n".join(map(json.dumps, records)))
    assert cli.json("import", str(own), str(simple))["new"] == 10
    for command in (("list",), ("recall", "boat harbour"), ("list", "--limit", "1")):
        ids = listed_ids(cli(*command).stdout)
        assert ids
        for id in ids:
            assert cli("show", id).exit_code == 0, id


def test_memories_of_one_date_get_short_ids_that_differ(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    records = [{"content": f"number {n}", "created_at": "2025-03-02T09:30:00Z"} for n in range(5)]
    file.write_text("\n".join(map(json.dumps, records)))
    cli.json("import", str(file))
    memories = cli.json("list")["memories"]
    assert len({memory["id"][:13] for memory in memories}) == 5
    assert {memory["created_at"][:19] for memory in memories} == {"2025-03-02T09:30:00"}


def test_stdin_is_imported(cli: Cli) -> None:
    done = cli("import", "-", input="use pnpm here\nthe port is 5433\n")
    assert (done.exit_code, done.stdout) == (0, "imported 2 memories from 1 file\n")
    assert done.stderr.startswith("stdin: read as lines (guess")
    assert cli("import", "-", "--format", "jsonl", input='{"content": "tea"}').exit_code == 0
    nothing = cli("import", "-", input="")
    assert nothing.exit_code == 2
    assert nothing.stderr.startswith("stdin: it is empty\n→ ")


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("missing.md", None, "there is no such file"),
        ("empty.md", b"", "it is empty"),
        ("blank.txt", b" \n\n", "it is empty"),
        ("photo.md", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "it is binary"),
        ("wide.txt", "hello".encode("utf-16"), "it is binary"),
    ],
)
@pytest.mark.parametrize("format", [(), ("--format", "markdown")], ids=["detected", "named"])
def test_what_holds_no_text_is_named_and_not_read(
    cli: Cli, tmp_path: Path, name: str, data: bytes | None, reason: str, format: tuple[str, ...]
) -> None:
    file = tmp_path / name
    if data is not None:
        file.write_bytes(data)
    done = cli("import", str(file), *format)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{file}: {reason}")
    assert "read as" not in done.stderr
    assert "\n→ " in done.stderr


def test_an_empty_file_of_a_folder_is_skipped(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty.md").touch()
    (tmp_path / "notes.md").write_text("Tea is in the shed.\n")
    done = cli.json("import", str(tmp_path))
    assert (done["new"], done["failed"]) == (1, 0)
    assert done["skipped"] == [str(tmp_path / "empty.md")]


def test_an_import_can_be_filed_under_no_project(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"content": "tea", "project": "shed"}\n')
    cli.json("import", str(file), "--global")
    assert [memory["project"] for memory in cli.json("list")["memories"]] == [None]
    assert cli.error("import", str(file), "--global", "--project", "p")[0] == 2
