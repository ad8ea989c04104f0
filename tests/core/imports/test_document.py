"""A whole document as a memory."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import pytest

from recollect.adapters.files.foreign_files import items_of
from recollect.core.imports.detect import Format, Recognised
from recollect.core.imports.found import Found, ImportProblem
from recollect.core.imports.notes import document


def read_items(path: Path, format: Format | None = None, most: int = 8_000) -> list[Found]:
    items = [
        item for item in items_of(path, format, "ada", most) if not isinstance(item, Recognised)
    ]
    assert all(isinstance(item, Found) for item in items), items
    return [item for item in items if isinstance(item, Found)]


def pdf(text: str) -> bytes:
    """Return the smallest PDF with a line of text."""
    page = zlib.compress(f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode())
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
            b" /Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(page), page),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % at for at in places)
    return out + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start


def test_a_markdown_document_is_one_memory_under_its_title(tmp_path: Path) -> None:
    file = tmp_path / "handbook.md"
    file.write_text("---\ntags: [ferry]\n---\n# The handbook #\n\nOne.\n\n## Two\n\n- three\n")
    (item,) = read_items(file, "document")
    assert item.content == "The handbook\n\nOne.\n\n## Two\n\n- three"
    assert (item.category, item.tags) == ("reference", ("document", "ferry"))


def test_a_text_without_a_heading_is_titled_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "ferry times.txt"
    file.write_text("It leaves at nine.\nIt returns at ten.\n")
    (item,) = read_items(file, "document")
    assert item.content == "ferry times\n\nIt leaves at nine.\nIt returns at ten."


def test_a_document_longer_than_a_memory_becomes_several() -> None:
    text = "# Log\n" + "The ferry left at nine. " * 100
    parts = [item for item in document(text, 1_000, "log") if isinstance(item, Found)]
    assert len(parts) == 3
    assert all(len(part.content) <= 1_000 for part in parts)
    assert parts[1].content.startswith("Log (2 of 3)\n\nThe ferry")
    assert sum(part.content.count("ferry left") for part in parts) == 100


def test_a_pdf_is_recognised_and_read(tmp_path: Path) -> None:
    file = tmp_path / "ferry.pdf"
    file.write_bytes(pdf("The ferry leaves at nine."))
    recognised, item = items_of(file, None, "ada", 8_000)
    assert isinstance(recognised, Recognised)
    assert (recognised.format, recognised.confidence) == ("document", "certain")
    assert isinstance(item, Found)
    assert item.content == "ferry\n\nThe ferry leaves at nine."


@pytest.mark.parametrize(
    ("data", "reason"),
    [(pdf(""), "no text"), (b"%PDF-1.4\n" + bytes(range(256)) * 9, "could not be read")],
    ids=["only images", "broken"],
)
def test_a_pdf_that_cannot_be_read_says_why(tmp_path: Path, data: bytes, reason: str) -> None:
    file = tmp_path / "scan.pdf"
    file.write_bytes(data)
    *_, problem = items_of(file, None, "ada", 8_000)
    assert isinstance(problem, ImportProblem)
    assert reason in problem.reason


def test_a_pdf_without_pypdf_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    file = tmp_path / "ferry.pdf"
    file.write_bytes(pdf("The ferry leaves at nine."))
    *_, problem = items_of(file, None, "ada", 8_000)
    assert isinstance(problem, ImportProblem)
    assert "EXTRAS=pdf" in problem.remedy
