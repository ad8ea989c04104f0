"""The simple formats, what a file is recognised as, and exports of Anthropic's programs."""

from __future__ import annotations

import json
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.core.imports.test_importers import FILES, contents, read

from recollect.adapters.files.foreign_files import files_in, items_of
from recollect.core.imports.detect import Recognised
from recollect.core.imports.found import ImportProblem

RECORD = {
    "content": "The office is in Odense.",
    "tags": ["office", "places"],
    "category": "reference",
    "created_at": "2025-03-02T16:14:27Z",
    "importance": 0.9,
    "project": "web-shop",
}


def recognise(path: Path) -> tuple[str, str]:
    (first,) = [
        item
        for file, is_read in files_in(path)
        if is_read
        for item in items_of(file, None, "ada", 8_000)
        if isinstance(item, Recognised)
    ]
    assert first.because
    return first.format, first.confidence


def write(path: Path, *values: object) -> Path:
    path.write_text(
        "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in values)
    )
    return path


def test_a_stray_first_line_does_not_make_notes_of_json_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "export.jsonl", "warning: the disk is nearly full", RECORD, RECORD)
    assert recognise(path) == ("jsonl", "certain")


@pytest.mark.parametrize(
    ("name", "format", "confidence"),
    [
        ("memory.jsonl", "mcp-memory", "certain"),
        ("graph.json", "mcp-memory", "likely"),
        ("mem0.json", "mem0", "likely"),
        ("conversations.json", "chatgpt", "certain"),
        ("chatgpt-memories.json", "chatgpt-memories", "guess"),
        ("mcp-memories-export.json", "mcp-memory-service", "certain"),
        ("notes.md", "markdown", "certain"),
        ("berth-planning.md", "basic-memory", "certain"),
        ("CLAUDE.md", "claude", "likely"),
    ],
)
def test_each_file_is_recognised(name: str, format: str, confidence: str) -> None:
    assert recognise(FILES / name) == (format, confidence)


def test_the_simple_format_takes_precedence_and_keeps_every_field(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", RECORD, {"content": "Tea."})
    assert recognise(path) == ("jsonl", "certain")
    found, troubles = read(path)
    assert troubles == []
    assert [item.content for item in found] == ["The office is in Odense.", "Tea."]
    assert found[0].tags == ("office", "places")
    assert (found[0].category, found[0].importance) == ("reference", 0.9)
    assert found[0].project == "web-shop"
    assert found[0].created_at is not None
    assert found[0].created_at.year == 2025
    assert (found[1].category, found[1].tags) == ("fact", ())
    as_list = tmp_path / "x.json"
    as_list.write_text(json.dumps([RECORD, {"content": "Tea."}]))
    assert recognise(as_list) == ("jsonl", "certain")
    assert [item.tags for item in read(as_list)[0]] == [item.tags for item in found]


def test_a_record_that_is_wrong_is_reported_by_its_line_and_the_rest_is_read(
    tmp_path: Path,
) -> None:
    path = write(
        tmp_path / "x.jsonl",
        RECORD,
        "{broken",
        {"content": 7},
        {"tags": ["x"]},
        {"content": "When?", "created_at": "yesterday"},
        {"content": "Tags?", "tags": {"a": 1}},
        {"content": "The source is left out.", "source": "a book"},
        {"content": "Here too.", "source": "a book"},
    )
    found, troubles = read(path)
    assert [item.content for item in found] == [
        "The office is in Odense.",
        "The source is left out.",
        "Here too.",
    ]
    assert [trouble.place for trouble in troubles] == [
        f"line {number}" for number in (2, 3, 4, 5, 6, 7)
    ]
    assert "'source'" in troubles[-1].reason
    assert all(trouble.remedy for trouble in troubles)


def test_a_malformed_line_of_mem0_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", {"memory": "one", "tags": ["a"]}, "{x", {"memory": "two"})
    assert recognise(path) == ("mem0", "likely")
    found, troubles = read(path)
    assert [item.content for item in found] == ["one", "two"]
    assert found[0].tags == ("mem0", "a")
    assert [trouble.place for trouble in troubles] == ["line 2"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "x.csv"
    rows = [
        ["content", "tags", "category", "created_at", "is_sensitive"],
        [f'"Tea{separator} not ""coffee"""', '"drinks;office"', "preference", "2025-03-02", "no"],
        ['"Two\nlines"', "", "", "", ""],
        ["Milk.", "", "", "never", ""],
        ["one", "cell", "too", "many", "here", "!"],
        ["Bread.", "", "", "", "yes"],
    ]
    path.write_text("\ufeff" + "\r\n".join(separator.join(row) for row in rows))
    assert recognise(path) == ("csv", "certain")
    found, troubles = read(path)
    assert [item.content for item in found] == [
        f'Tea{separator} not "coffee"',
        "Two\nlines",
        "Bread.",
    ]
    assert found[0].tags == ("drinks", "office")
    assert (found[0].category, found[0].is_sensitive) == ("preference", False)
    assert [item.is_sensitive for item in found[1:]] == [None, True]
    assert [trouble.place for trouble in troubles] == ["line 5", "line 6"]


def test_csv_without_a_content_column_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "title,body", "a,b")
    (trouble,) = read(path)[1]
    assert trouble.place == "line 1"
    assert "content" in trouble.remedy


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("Nadia prefers tea.\nThe office is in Odense.\n", "lines"),
        ("Nadia prefers tea.\n\nThe office is in Odense.\n", "lines"),
        ("This sentence is wrapped\nby the editor, so that\nit fills the page.\n", "markdown"),
        ("A paragraph\nof two lines.\n\nAnother one.\n", "markdown"),
        (f"{'wrapped words ' * 5}\n{'more of the same ' * 4}\nto the end.\n", "markdown"),
        ("# Notes\nNadia prefers tea.\n", "markdown"),
        ("Only one line.\n", "markdown"),
    ],
)
def test_plain_text_is_read_by_line_or_by_paragraph(tmp_path: Path, text: str, format: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    assert recognise(path) == (format, "guess")
    if format == "lines":
        assert contents(path) == ["Nadia prefers tea.", "The office is in Odense."]
        assert read(path)[0][0].tags == ()


@pytest.mark.parametrize(
    "notes",
    [
        ["use pnpm", "the port is 5433"],
        ["use pnpm in the web folder", "never mock the database", "ada reviews", "deploy friday"],
        ["the staging database is read-only on fridays, ask ada", "tea is in the shed", "no npm"],
        ["Use pnpm in the web folder of the shop.", "port is 5433", "no mocks", "ada reviews"],
    ],
)
def test_notes_in_small_letters_are_one_memory_a_line(tmp_path: Path, notes: list[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("".join(f"{note}\n" for note in notes))
    assert recognise(path) == ("lines", "guess")
    assert contents(path) == notes


@pytest.mark.parametrize(
    "front", ["tags: [boats, parts]", 'tags: "boats", parts', "tags:\n  - boats\n  - '#parts'"]
)
def test_tags_of_a_front_matter_are_kept(tmp_path: Path, front: str) -> None:
    path = tmp_path / "notes.md"
    path.write_text(f"---\ntitle: x\n{front}\n---\nThe shop sells boat parts.\n")
    assert read(path)[0][0].tags == ("boats", "parts")


CONVERSATION: dict[str, Any] = {
    "uuid": "c1",
    "name": "Trip to Aarhus",
    "created_at": "2025-05-01T12:00:00Z",
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "Which ferry goes on Sunday?",
            "created_at": "2025-05-01T12:00:01Z",
            "attachments": [{"extracted_content": "a long document"}],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "flattened",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "The one at 09:30."},
                {"type": "tool_use", "name": "search"},
            ],
        },
        {"uuid": "m3", "sender": "human", "text": ""},
    ],
}
REMEMBERED = {
    "conversations_memory": (
        "**Work context**\n\nAda leads the payments team.\n\n"
        "**Brief history**\n\n*Earlier context*\n\nAda repaired boats.\n\n"
        "---\n\n**Other instructions**\n\n- Ada wants short answers"
    ),
    "project_memories": {"p1": "Releases go out on Tuesdays."},
}


def as_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "conversations.json").write_text(json.dumps([CONVERSATION]))
    (folder / "memories.json").write_text(json.dumps([REMEMBERED]))
    (folder / "projects.json").write_text(json.dumps([{"uuid": "p1", "name": "web-shop"}]))
    (folder / "users.json").write_text(json.dumps([{"uuid": "u"}]))
    return folder


def as_archive(folder: Path) -> Path:
    archive = folder / "data.zip"
    with zipfile.ZipFile(archive, "w") as writing:
        for file in as_folder(folder / "x").iterdir():
            writing.write(file, file.name)
    return archive


@pytest.mark.parametrize("make", [lambda at: as_folder(at / "data"), as_archive])
def test_the_export_of_claude_ai(tmp_path: Path, make: Any) -> None:
    path = make(tmp_path)
    formats = {
        (item.format, item.confidence)
        for file, is_read in files_in(path)
        if is_read
        for item in items_of(file, None, "ada", 8_000)
        if isinstance(item, Recognised)
    }
    assert formats == {("claude-ai", "certain")}
    found, troubles = read(path)
    assert troubles == []
    turns = [item for item in found if item.category == "episode"]
    assert [item.content for item in turns] == [
        "User: Which ferry goes on Sunday?",
        "Assistant: The one at 09:30.",
    ]
    assert {item.session for item in turns} == {"claude-ai:c1"}
    assert {item.expanded_keywords for item in turns} == {("Trip to Aarhus",)}
    assert all(item.created_at is not None for item in turns)
    facts = [(item.content, item.project) for item in found if item.category == "fact"]
    assert facts == [
        ("Work context: Ada leads the payments team.", None),
        ("Brief history, Earlier context: Ada repaired boats.", None),
        ("Other instructions: Ada wants short answers", None),
        ("Releases go out on Tuesdays.", "web-shop"),
    ]


def entry(kind: str, content: object, **fields: object) -> dict[str, object]:
    return {
        "type": kind,
        "sessionId": "s1",
        "cwd": "/gone/web-shop",
        "uuid": f"{kind} {content}"[:40],
        "timestamp": "2025-05-01T12:00:00.000Z",
        "message": {"role": kind, "content": content},
        **fields,
    }


def test_a_transcript_of_claude_code(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-gone-web-shop"
    folder.mkdir(parents=True)
    write(
        folder / "s1.jsonl",
        {"type": "summary", "summary": "Fixing the shop", "leafUuid": "x"},
        entry("user", "Why does checkout fail?<system-reminder>be nice</system-reminder>"),
        entry(
            "assistant",
            [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A typo."}],
        ),
        entry("assistant", [{"type": "tool_use", "name": "Bash", "input": {}}]),
        entry("user", [{"type": "tool_result", "content": "secret output"}]),
        entry("user", "/clear"),
        entry("user", "Caveat", isMeta=True),
        entry("assistant", [{"type": "text", "text": "of a subagent"}], isSidechain=True),
        "{cut off",
        entry("user", [{"type": "text", "text": "Thanks, always run the linter."}]),
    )
    write(folder / "data.jsonl", {"content": "a data set that nobody named"})
    assert recognise(tmp_path) == ("claude-code", "certain")
    assert [file.name for file, is_read in files_in(tmp_path) if not is_read] == ["data.jsonl"]
    found, troubles = read(tmp_path)
    assert [item.content for item in found] == [
        "User: Why does checkout fail?",
        "Assistant: A typo.",
        "User: Thanks, always run the linter.",
    ]
    assert {(item.category, item.session, item.project) for item in found} == {
        ("episode", "s1", "web-shop")
    }
    assert {item.tags for item in found} == {("claude-code",)}
    assert all(item.created_at is not None for item in found)
    assert [trouble.place for trouble in troubles] == ["line 9"]


def test_a_transcript_names_the_project_that_its_repository_is(tmp_path: Path) -> None:
    git = tmp_path / "clone" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text('[remote "origin"]\n\turl = git@git.example:team/shop.git\n')
    path = write(tmp_path / "s.jsonl", entry("user", "hello there", cwd=str(git.parent)))
    assert read(path)[0][0].project == "git.example/team/shop"


def test_a_wrong_format_names_the_others(tmp_path: Path) -> None:
    path = write(tmp_path / "notes.md", "Nadia prefers tea.")
    for format in ("chatgpt", "claude-ai"):
        (trouble,) = read(path, format)[1]
        assert format in trouble.reason
        assert "claude-code" in trouble.remedy


def problem_of(file: Path) -> ImportProblem:
    (problem,) = items_of(file, None, "ada", 8_000)
    assert isinstance(problem, ImportProblem)
    return problem


def test_an_archive_that_unpacks_to_many_times_its_size_is_not_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * 30_000_000 + b"]")
    tracemalloc.start()
    try:
        assert "too large" in problem_of(file).reason
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_pipe_and_a_device_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        assert "not a regular file" in problem_of(path).reason
