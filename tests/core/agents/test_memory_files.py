"""Paths that may be named, and the messages that the tool's documentation specifies."""

from __future__ import annotations

import pytest

from recollect.core.agents.memory_files import (
    FilePath,
    Refused,
    file_path,
    file_view,
    insert_text,
    listing,
    replace_text,
)

NOTES = FilePath("/memories/notes.txt")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/memories", "/memories"),
        ("/memories/", "/memories"),
        ("/memories/notes.txt", "/memories/notes.txt"),
        ("/memories/a/b/c.md", "/memories/a/b/c.md"),
        ("/memories/team/", "/memories/team"),
        ("/memories/über uns.md", "/memories/über uns.md"),
        ("/memories/u\u0308ber.md", "/memories/über.md"),
        ("/memories/…draft 100%.txt", "/memories/…draft 100%.txt"),
        ("/memories/..hidden", "/memories/..hidden"),
    ],
)
def test_allowed(text: str, meant: str) -> None:
    if "…" in text:  # to other programs an ellipsis is three dots
        with pytest.raises(Refused):
            file_path(text)
    else:
        assert file_path(text) == FilePath(meant)


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "/",
        "memories/notes.txt",
        "./memories/x",
        "/etc/passwd",
        "/Memories/x",
        "/memoriesx",
        "/memories2/x",
        " /memories/x",
        "/memories/../etc/passwd",
        "/memories/..",
        "/memories/a/../../x",
        "/memories/./x",
        "/memories//x",
        "/memories/a//",
        "//memories/x",
        "/memories/..\\..\\x",
        "/memories\\x",
        "/memories/C:\\x",
        "/memories/%2e%2e%2fetc",
        "/memories/%2E%2E/x",
        "/memories/%00",
        "/memories/%252e%252e/x",
        "/memories/a\x00b",
        "/memories/a\nb",
        "/memories/a\u202eb",
        "/memories/a\u200b",
        "/memories/a\u2028b",
        "/memories/\ud800",
        "/memories/\uff0e\uff0e/x",
        "/memories/\u2025/x",
        "/memories/..\uff0fx",
        "/memories/a\u2024\u2024",
        "/memories/a ",
        "/memories/ a",
        "/memories/ ../x",
        "file:///memories/x",
        "~/memories/x",
        "/memories/" + "a" * 200,
    ],
)
def test_refused(text: object) -> None:
    with pytest.raises(Refused) as refused:
        file_path(text)
    message = str(refused.value)
    assert message.startswith("Error: The path")
    assert message.isprintable()
    assert len(message) < 400


def test_a_file_is_shown_with_numbers_six_wide() -> None:
    content = "\n".join(f"line {number}" for number in range(1, 101))
    shown = file_view(NOTES, content).split("\n")
    assert shown[0] == "Here's the content of /memories/notes.txt with line numbers:"
    assert shown[1] == "     1\tline 1"
    assert shown[100] == "   100\tline 100"


@pytest.mark.parametrize(
    ("view_range", "first", "last"),
    [([1, 1], "     1\ta", "     1\ta"), ([2, -1], "     2\tb", "     3\tc"), ([2, 9], "b", "c")],
)
def test_a_range_of_lines(view_range: list[int], first: str, last: str) -> None:
    shown = file_view(NOTES, "a\nb\nc", view_range).split("\n")[1:]
    assert shown[0].endswith(first)
    assert shown[-1].endswith(last)


@pytest.mark.parametrize("view_range", [[0, 2], [4, 5], [3, 2], [1], "1-2", [1, "2"], [-1, -1]])
def test_a_range_that_is_none(view_range: object) -> None:
    with pytest.raises(Refused, match=r"Invalid `view_range`.*\[1, 3\]"):
        file_view(NOTES, "a\nb\nc", view_range)


def test_a_million_lines_are_too_many() -> None:
    with pytest.raises(Refused, match=r"exceeds maximum line limit of 999,999 lines\."):
        file_view(NOTES, "\n" * 999_999)


def test_a_directory_two_levels_deep_with_sizes() -> None:
    sizes = {
        FilePath("/memories/notes.txt"): 5632,
        FilePath("/memories/.hidden"): 1,
        FilePath("/memories/team/a.md"): 100,
        FilePath("/memories/team/deep/b.md"): 1_258_292,
        FilePath("/memories/node_modules/x"): 1,
    }
    assert listing(FilePath("/memories"), sizes) == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden "
        "items and node_modules:\n"
        "1.2M\t/memories\n"
        "5.5K\t/memories/notes.txt\n"
        "1.2M\t/memories/team\n"
        "100B\t/memories/team/a.md\n"
        "1.2M\t/memories/team/deep"
    )
    assert listing(FilePath("/memories"), {}).endswith("\n0B\t/memories")


def test_replacing_shows_the_lines_around() -> None:
    content = "\n".join(f"line {number}" for number in range(1, 21))
    changed, message = replace_text(NOTES, content, "line 10\nline 11", "ten")
    assert "line 9\nten\nline 12" in changed
    first, *lines = message.split("\n")
    assert first == "The memory file has been edited."
    assert (lines[0], lines[-1]) == ("     6\tline 6", "    14\tline 15")


def test_replacing_what_is_not_there_or_there_twice() -> None:
    with pytest.raises(Refused) as refused:
        replace_text(NOTES, "a", "b", "c")
    assert str(refused.value) == (
        "No replacement was performed, old_str `b` did not appear verbatim in /memories/notes.txt."
    )
    with pytest.raises(Refused) as refused:
        replace_text(NOTES, "x y\nz\nx x", "x", "c")
    assert str(refused.value) == (
        "No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 3. "
        "Please ensure it is unique"
    )
    with pytest.raises(Refused, match="did not appear"):
        replace_text(NOTES, "a", "", "c")


@pytest.mark.parametrize(
    ("line", "expected"), [(0, "new\na\nb"), (1, "a\nnew\nb"), (2, "a\nb\nnew")]
)
def test_inserting(line: int, expected: str) -> None:
    assert insert_text("a\nb", line, "new\n") == expected


@pytest.mark.parametrize("line", [-1, 3, None, "1", True, 1.5])
def test_inserting_where_there_is_no_line(line: object) -> None:
    with pytest.raises(Refused) as refused:
        insert_text("a\nb", line, "new")
    assert str(refused.value) == (
        f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines "
        "of the file: [0, 2]"
    )
