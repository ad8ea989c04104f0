"""Documents that lag behind the code fail here."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from recollect.core.recall.settings import RecallSettings
from recollect.settings import Settings
from recollect.shells.cli.framework.output import setting_value

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONFIGURATION = DOCS / "configuration.md"
SOURCE = ROOT / "src" / "recollect"
ADRS = sorted((DOCS / "adr").glob("[0-9]*.md"))
REJECTED = DOCS / "adr" / "rejected.md"
FOLDERS = [ROOT / name for name in ("docs", "examples", "src", "tests")]
DOCUMENTS = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in folder.rglob("*.md"))]
CODE = [ROOT / name for name in ("bench", "src", "tests")]
CITING = {".js", ".py", ".sql"}
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def named(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def tables(text: str, first_header: str) -> dict[str, list[str]]:
    """Return the rows of the tables whose first column has this header, by their first cell."""
    rows: dict[str, list[str]] = {}
    for block in re.findall(
        rf"^\| {first_header} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE
    ):
        for line in block.splitlines():
            first, *others = (cell.strip() for cell in line.strip("|").split("|"))
            assert first not in rows, first
            rows[first] = others
    return rows


def test_every_setting_is_explained_and_no_other() -> None:
    rows = tables(CONFIGURATION.read_text(), "variable")
    assert set(rows) == {f"`RECOLLECT_{name.upper()}`" for name in Settings.__annotations__}
    for default, meaning in rows.values():
        assert default
        assert meaning.endswith(".")


def test_plain_defaults_are_the_ones_in_the_table() -> None:
    rows = tables(CONFIGURATION.read_text(), "variable")
    for field in fields(Settings):
        if field.default is not MISSING:
            shown = rows[f"`RECOLLECT_{field.name.upper()}`"][0]
            assert shown == (f"`{field.default}`" if field.default else "none"), field.name


def test_every_setting_of_recall_is_explained_with_its_default() -> None:
    rows = tables(CONFIGURATION.read_text(), "name")
    defaults = {field.name: setting_value(field.default) for field in fields(RecallSettings)}
    assert {name.strip("`"): cells[0].strip("`") for name, cells in rows.items()} == defaults


@pytest.mark.parametrize("adr", ADRS, ids=named(ADRS))
def test_an_adr_has_its_sections(adr: Path) -> None:
    text = adr.read_text()
    assert text.startswith(f"# {adr.name[:4]}: ")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == ["Status", "Context", "Decision", "Consequences"]
    sections = re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]
    assert all(section.strip() for section in sections)


def test_a_number_without_an_adr_is_among_the_rejected() -> None:
    numbers = [int(adr.name[:4]) for adr in ADRS]
    replaced = [int(number) for number in re.findall(r"\((\d{4})[ )]", REJECTED.read_text())]
    assert sorted(numbers + replaced) == list(range(1, max(numbers) + 1))


def test_every_rejection_has_a_figure() -> None:
    entries = re.split(r"^### .+$", REJECTED.read_text(), flags=re.MULTILINE)[1:]
    assert entries
    for entry in entries:
        text = re.sub(r"\(\S+\.md\S*\)", "", entry.split("\n## ", 1)[0])
        assert re.search(r"\d", text), entry


def test_adrs_that_the_code_cites_exist() -> None:
    numbers = {adr.name[:4] for adr in ADRS}
    files = [file for folder in CODE for file in folder.rglob("*") if file.suffix in CITING]
    assert files
    for file in files:
        for cited in re.findall(r"(?:docs/adr/|ADR )(\d{4})", file.read_text()):
            assert cited in numbers, f"{file} cites ADR {cited}"


def links(document: Path) -> list[str]:
    text = FENCED.sub("", document.read_text())
    inline = re.findall(r"\]\(([^)\s]+)[^)]*\)", text)
    footed = re.findall(r"^\[[^\]]+\]: (\S+)", text, re.MULTILINE)
    return [link for link in (*inline, *footed) if not re.match(r"[a-z]+:", link)]


def anchors(document: Path) -> set[str]:
    """Return the anchors that a forge makes of headings."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=named(DOCUMENTS))
def test_relative_links_lead_somewhere(document: Path) -> None:
    for link in links(document):
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


def glossary_places() -> list[tuple[str, str]]:
    """Return (place, line) for every place in the last column of the glossary's tables."""
    lines = (DOCS / "CONTEXT.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| **")]
    return [
        (place, row)
        for row in rows
        for place in re.findall(r"`([^`]+)`", row.rstrip("| ").rsplit("|", 1)[-1])
    ]


@pytest.mark.parametrize(("place", "row"), glossary_places())
def test_every_word_lives_where_the_glossary_says(place: str, row: str) -> None:
    if "/" in place or place.endswith(".py"):
        assert (SOURCE / place).exists(), row
        return
    # A name: `Memory.tags` is a field that some class has, `LEGS` is defined somewhere below.
    name = re.escape(place.rpartition(".")[2])
    defined = re.compile(
        rf"^\s*(class {name}\b|(async )?def {name}\b|{name}\b.*[:=])", re.MULTILINE
    )
    assert any(defined.search(file.read_text()) for file in SOURCE.rglob("*.py")), row


def test_a_restore_next_to_a_running_server_is_documented_as_one_transaction() -> None:
    """A worker writes into tables as soon as it sees them, and what is restored then clashes."""
    text = (DOCS / "backup.md").read_text()
    restores = re.findall(r"^pg_restore .*$", text, re.MULTILINE)
    assert restores
    assert all("--single-transaction" in restore for restore in restores)
