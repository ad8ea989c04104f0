"""`recollect bench curation`: what is found, and what accepting it does."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.chat_loopback import ChatLoopback
from tests.command_line import run_command

from recollect.core.errors import InvalidInput
from recollect_bench.cli.app import app
from recollect_bench.data.convert import Asked, Converted, write_set
from recollect_bench.data.datasets import Document, Question, read_set

DOCUMENTS = {
    document.id: document
    for document in (
        Document("old", "The orders API runs on port 8000.", time="2024-01-01T00:00:00Z"),
        Document("other", "Invoices are sent on Mondays.", time="2024-02-01T00:00:00Z"),
        Document("new", "The orders API was moved to port 9000.", time="2024-03-01T00:00:00Z"),
    )
}
QUESTION = Question("q", "which port has the orders API that runs", "update")


def _set(folder: Path) -> None:
    asked = [Asked(QUESTION, "9000", ("new",))]
    write_set(Converted.of(DOCUMENTS, asked, [("new", "old")]), folder)


def test_curation_reports_pairs_and_the_order_before_and_after(tmp_path: Path) -> None:
    _set(tmp_path / "sets" / "ports")
    report, sample = tmp_path / "report.json", tmp_path / "sample.tsv"
    arguments = ["curation", "--data", tmp_path / "sets", "--json", report, "--sample", sample]
    result = run_command(list(map(str, arguments)), app)
    assert result.exit_code == 0, result.output
    assert "…" not in result.output, "the tables fit 80 columns"
    (found,) = json.loads(report.read_text())
    assert (found["pairs"], found["pairs_proposed"]) == (1, 1)
    assert (found["proposals"], found["by_kind"]) == (1, {"supersedes": 1})
    assert found["newer_first_before"]["value"] == 0.0
    assert found["newer_first_after"]["value"] == 1.0
    assert found["quality_after"]["recall_at_10"] == 1.0
    (row,) = csv.DictReader(sample.read_text().splitlines(), delimiter="\t")
    assert row["kind"] == "supersedes"
    assert row["is_right"] == ""
    assert row["newer"] == DOCUMENTS["new"].text


def test_curation_reports_rules_alone_and_with_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {
        document.id: document
        for document in (
            Document("old", "The spare key of the beach house is under the blue flower pot."),
            Document("new", "The spare key of the beach house is in the shoe rack."),
        )
    }
    asked = [Asked(Question("q", "where is the spare key", "update"), "shoe rack", ("new",))]
    write_set(Converted.of(documents, asked, [("new", "old")]), tmp_path / "sets" / "keys")
    report = tmp_path / "report.json"

    def supersede(pair: dict[str, str]) -> str:
        return json.dumps(
            {
                "verdict": "supersedes",
                "newer_quote": pair["newer"],
                "older_quote": pair["older"],
            }
        )

    with ChatLoopback(supersede) as chat:
        monkeypatch.setenv("RECOLLECT_LLM_URL", chat.url)
        monkeypatch.setenv("RECOLLECT_LLM_MODEL", "small")
        arguments = ["curation", "--data", tmp_path / "sets", "--json", report]
        result = run_command(list(map(str, arguments)), app)
    assert result.exit_code == 0, result.output
    alone, with_model = json.loads(report.read_text())
    assert (alone["decided_by"], alone["asked"], alone["pairs_proposed"]) == ("rules", 0, 0)
    assert (with_model["decided_by"], with_model["asked"]) == ("rules and small", 1)
    assert (with_model["pairs_proposed"], with_model["dropped"]) == (1, 0)


def test_pairs_round_trip_and_name_known_documents(tmp_path: Path) -> None:
    _set(tmp_path)
    assert read_set(tmp_path).supersedes == (("new", "old"),)
    (tmp_path / "supersedes.tsv").write_text("newer\tolder\nnew\tgone\n")
    with pytest.raises(InvalidInput, match="'gone' is not in corpus"):
        read_set(tmp_path)
    (tmp_path / "supersedes.tsv").write_text("new\told\n")
    with pytest.raises(InvalidInput, match="header"):
        read_set(tmp_path)
