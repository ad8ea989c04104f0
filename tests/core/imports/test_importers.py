"""Every importer on a file like those its program writes, read as the command reads it."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path

import pytest

from recollect.adapters.files.foreign_files import files_in, items_of
from recollect.core.errors import InvalidInput
from recollect.core.imports.detect import FORMATS, Format
from recollect.core.imports.found import Exact, Found, ImportProblem

FILES = Path(__file__).parent / "files"


def read(
    path: Path, format: Format | None = None, most: int = 8_000
) -> tuple[list[Found], list[ImportProblem]]:
    items = [
        item
        for file, is_read in files_in(path, format)
        if is_read
        for item in items_of(file, format, "ada", most)
    ]
    assert not any(isinstance(item, Exact) for item in items)
    found = [item for item in items if isinstance(item, Found)]
    return found, [item for item in items if isinstance(item, ImportProblem)]


def contents(path: Path, format: Format | None = None) -> list[str]:
    found, troubles = read(path, format)
    assert troubles == []
    return [item.content for item in found]


def test_the_graph_of_the_mcp_reference_server() -> None:
    found, troubles = read(FILES / "memory.jsonl")
    assert troubles == []
    assert [item.content for item in found] == [
        "Ada Marsh: Leads the payments team since 2025",
        "Ada Marsh: Prefers pull requests under 300 lines",
        "Ada Marsh speaks Danish",
        "ledger-service: Runs on port 7443 in staging",
        "Blue Harbour is of the kind customer.",
        "Ada Marsh maintains ledger-service.",
        "ledger-service is used by Blue Harbour.",
    ]
    assert found[0].tags == ("person",)
    assert found[0].expanded_keywords == ("Ada Marsh",)
    assert found[1].place == "line 1, observation 2"


def test_the_same_graph_as_its_tool_answers() -> None:
    assert contents(FILES / "graph.json") == [
        "Ada Marsh: Leads the payments team since 2025",
        "Ada Marsh maintains ledger-service.",
    ]


def test_mem0() -> None:
    found, troubles = read(FILES / "mem0.json")
    assert [item.content for item in found][:2] == [
        "Ada prefers window seats on trains",
        "The shop's staging database is read-only on Fridays",
    ]
    assert found[0].tags == ("mem0", "personal", "travel", "travel")
    assert found[0].created_at is not None
    assert found[0].created_at.isoformat() == "2025-03-02T16:14:27.513421+00:00"
    assert found[1].session == "run-17"
    assert [trouble.place for trouble in troubles] == ["item 3"]


def test_mem0_one_a_line_and_as_a_plain_list(tmp_path: Path) -> None:
    rows = json.loads((FILES / "mem0.json").read_text())["results"][:2]
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(row) + "\r\n" for row in rows))
    plain = tmp_path / "list.json"
    plain.write_text(json.dumps(rows))
    assert contents(lines) == contents(plain) == [row["memory"] for row in rows]


def test_mcp_memory_service() -> None:
    found, troubles = read(FILES / "mcp-memories-export.json")
    assert troubles == []
    assert [(item.content, item.category, item.tags) for item in found] == [
        (
            "The harbour API allows 20 requests a minute.",
            "fact",
            ("mcp-memory-service", "harbour", "limits", "learning"),
        ),
        ("We store berths in Postgres.", "decision", ("mcp-memory-service",)),
    ]
    assert found[0].created_at is not None
    assert found[0].created_at.isoformat() == "2025-03-03T11:06:40.500000+00:00"


def test_the_export_of_the_dashboard_of_mcp_memory_service(tmp_path: Path) -> None:
    memories = json.loads((FILES / "mcp-memories-export.json").read_text())["memories"]
    path = tmp_path / "mcp-memories-export-2025-11-04.json"
    path.write_text(json.dumps({"export_date": "2025-11-04T08:15:00Z", "memories": memories}))
    assert read(path) == read(FILES / "mcp-memories-export.json")


def test_a_note_of_basic_memory() -> None:
    found, troubles = read(FILES / "berth-planning.md")
    assert troubles == []
    both = ("basic-memory", "harbour", "planning")
    assert [(item.content, item.category, item.tags) for item in found] == [
        ("Berth Planning: Ships announce themselves a day ahead.", "note", both),
        (
            "Berth Planning: Big ships get the outer North Quay (since the storm)",
            "decision",
            (*both, "quay", "safety"),
        ),
        (
            "Berth Planning: Plans are drawn at #low-tide, never later",
            "fact",
            (*both, "technique", "low-tide"),
        ),
        ("Berth Planning: [00:12] A line of a transcript", "note", both),
        ("Berth Planning: A berth without a category", "note", (*both, "backlog")),
        ("Berth Planning depends on Tide Tables.", "fact", both),
        ("Berth Planning is drawn by Ada Marsh (in spring).", "fact", both),
        ("Berth Planning, Winter: The outer quay is closed in January.", "note", both),
    ]
    assert found[5].expanded_keywords == ("Berth Planning", "Tide Tables")
    assert found[0].place == "line 13"
    assert {item.created_at and item.created_at.day for item in found} == {2}


def test_chatgpt_conversations() -> None:
    found, troubles = read(FILES / "conversations.json")
    assert [item.content for item in found] == [
        "User: Which ferry goes to Aarhus on Sunday?",
        "Assistant: The one at 09:30 from Odden.",
        "User: Is this the right ticket?",
    ]
    assert {item.category for item in found} == {"episode"}
    assert {item.session for item in found} == {"chatgpt:67c5a1f0-1111-8001-9c1e-aaaaaaaaaaaa"}
    assert found[0].expanded_keywords == ("Trip to Aarhus",)
    assert [trouble.place for trouble in troubles] == ["conversation 2"]


def test_the_archive_that_chatgpt_sends(tmp_path: Path) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as writing:
        writing.write(FILES / "conversations.json", "conversations.json")
        writing.writestr("chat.html", "<html>")
    assert [item.content for item in read(archive)[0]] == [
        item.content for item in read(FILES / "conversations.json")[0]
    ]


def test_a_long_turn_becomes_several(tmp_path: Path) -> None:
    talk = json.loads((FILES / "conversations.json").read_text())[:1]
    parts = talk[0]["mapping"]["a1"]["message"]["content"]["parts"]
    parts[0] = "The ferry waits. " * 40
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(talk))
    found, _ = read(path, most=400)
    turns = [item.content for item in found if item.content.startswith("Assistant")]
    assert len(turns) == 2
    assert turns[0].startswith("Assistant (1 of 2): The ferry waits.")
    assert all(len(turn) <= 400 and turn.endswith("waits.") for turn in turns)


@pytest.mark.parametrize("name", ["chatgpt-memories.txt", "chatgpt-memories.json"])
def test_chatgpt_memories(name: str) -> None:
    texts = contents(FILES / name, "chatgpt-memories")
    assert "Lives in Odense." in texts
    assert len(texts) == (3 if name.endswith("txt") else 2)


def test_chatgpt_memories_in_json_are_recognised() -> None:
    assert contents(FILES / "chatgpt-memories.json") == ["Is learning Danish.", "Lives in Odense."]


def test_markdown_notes() -> None:
    found, troubles = read(FILES / "notes.md")
    assert troubles == []
    assert [item.content for item in found] == [
        "Shop: The shop sells boat parts.\nIt opened in 2019.",
        "Shop, Deploys: Before a deploy: Run `make check`.",
        (
            "Shop, Deploys: Before a deploy: Tell the harbour channel,\n"
            "  and wait for a thumbs-up.\n  - Nested remark stays with it."
        ),
        "Shop, Deploys: Before a deploy: Tag the release.",
        "Shop, Deploys: Rollbacks take two minutes.",
        "Shop, Deploys: ```sh\n# not a heading\nmake rollback\n```",
        "Shop, Contacts: | who | what |\n|---|---|\n| Ada | payments |",
    ]
    assert {item.category for item in found} == {"note"}
    assert found[0].place == "line 7"


def test_a_claude_file() -> None:
    found, _ = read(FILES / "CLAUDE.md")
    assert [item.content for item in found] == [
        "Working here: Use `uv`, never pip.",
        "Working here: Tests live in `tests/`, named after the module.",
        "Working here, Style: Write plain sentences.",
    ]
    assert {item.category for item in found} == {"procedure"}


@pytest.mark.parametrize(
    "line",
    [
        "See @docs/style.md",
        "Read @docs/style.md.",
        "Git workflow: @docs/git.md",
        "@~/.claude/mine.md",
        "See @README for an overview and @package.json for the commands.",
    ],
)
def test_a_line_that_only_includes_another_file_is_no_memory(tmp_path: Path, line: str) -> None:
    path = tmp_path / "CLAUDE.md"
    path.write_text(f"# Style\n\n{line}\n\n- {line}\n- Write plain sentences.\n")
    assert contents(path) == ["Style: Write plain sentences."]


def test_an_include_right_below_a_statement_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "CLAUDE.md"
    path.write_text(
        "# Style\n\n- Use tabs\n@AGENTS.md\n\nWrite plain sentences.\n@docs/style.md\n\n"
        "Before a release, read\n@docs/release.md\n"
    )
    assert contents(path) == [
        "Style: Use tabs",
        "Style: Write plain sentences.",
        "Style: Before a release, read\n@docs/release.md",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Read @docs/deploy.md before you deploy.",
        "Never edit @src/generated/api.ts",
        "Reviews: @ada",
        "Buttons come from @harbour/buttons",
        "Never deploy on Fridays, see @docs/deploy.md",
    ],
)
def test_a_rule_that_names_a_file_or_a_person_is_kept(tmp_path: Path, line: str) -> None:
    path = tmp_path / "CLAUDE.md"
    path.write_text(f"{line}\n")
    assert contents(path) == [line]


def test_lines_in_bold_or_italics_are_headings(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(
        "**Work**\n\nAda leads payments.\n\n**History**\n\n*Recent months*\n\nShe moved.\n\n"
        "_Before that:_\n\n- She sailed.\n\n**Never deploy on Fridays**\n\n# Tests\n\n"
        "**They are slow.**\n\n**a** and **b**\n\n__Last__\n"
    )
    assert contents(path) == [
        "Work: Ada leads payments.",
        "History, Recent months: She moved.",
        "History, Before that: She sailed.",
        "**Never deploy on Fridays**",
        "Tests: **They are slow.**",
        "Tests: **a** and **b**",
        "Tests: __Last__",
    ]


def test_a_claude_memory_folder() -> None:
    found, _ = read(FILES / "claude-home")
    assert [(item.content, item.category) for item in found] == [
        ("Memory: The staging cluster is called kestrel.", "fact"),
        (
            (
                "Ada wants short answers without a summary at the end\n\n"
                "Leave out the closing summary.\n\n**Why:** she reads the diff herself."
            ),
            "preference",
        ),
    ]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"type":"entity","name":"A","observations":["x"]}\n{broken\n', "line 2"),
        (b'{"type":"entity","name":"A","observations":["x"]}\n{"a":"\xff"}\n', "line 2"),
        (b'\xef\xbb\xbf{"type":"entity","name":"A","observations":["x"]}\r\n\r\n[1]\r\n', "line 3"),
        (b'{"type":"entity","name":"A","observations":["x"]}\n{"type":"entity"}', "line 2"),
        (b'{"type":"relation","from":"A","to":"B"}\n{"type":"entity","name":"A"}', "line 1"),
        (b'{"type":"entity","name":"A"}\n' + b"[" * 200_000, "line 2"),
    ],
)
def test_a_line_that_cannot_be_read_does_not_stop_the_rest(
    tmp_path: Path, data: bytes, place: str
) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(data)
    found, troubles = read(path)
    assert len(found) == 1
    assert [trouble.place for trouble in troubles] == [place]


def test_a_line_without_end(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    whole = b'{"type":"entity","name":"A","observations":["x"]}\n'
    path.write_bytes(whole + b'{"x":"' + b"y" * 17_000_000 + b'"}\n' + whole)
    found, troubles = read(path)
    assert len(found) == 2
    assert [trouble.place for trouble in troubles] == ["line 2"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "data", [b"", b"\x00\x01\xff", b"{}", b"[]", b"[[1]]", b"null", b"PK\x03\x04", b"- \xff\n- x"]
)
def test_no_bytes_make_a_reader_raise(tmp_path: Path, format: Format, data: bytes) -> None:
    path = tmp_path / "anything"
    path.write_bytes(data)
    read(path, format)


@pytest.mark.parametrize(
    ("heading", "content"),
    [
        ("## Tests ##", "Tests: run them nightly"),
        ("# C#", "C#: run them nightly"),
        ("# **Tests** #", "Tests: run them nightly"),
        ("# #", "run them nightly"),
    ],
)
def test_headings_may_be_closed(tmp_path: Path, heading: str, content: str) -> None:
    path = tmp_path / "notes.md"
    path.write_text(f"{heading}\n\nrun them nightly\n")
    assert contents(path, "markdown") == [content]


@pytest.mark.parametrize("part", ["<!--", "# ", " ", "- ", "[", "[a](", "#"])
def test_no_notes_take_longer_than_their_length(tmp_path: Path, part: str) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# " + part * (200_000 // len(part)) + "x")
    began = time.process_time()
    read(path, "markdown")
    assert time.process_time() - began < 30


def test_undetectable_format_asks_for_format(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}')
    with pytest.raises(InvalidInput, match="format"):
        read(path)
