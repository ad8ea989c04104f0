"""The comparison of embedding models measures what it claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import run_command

from recollect_bench.cli.app import app
from recollect_bench.data.datasets import Document, EvaluationSet
from recollect_bench.speed.models import texts_with_context


def test_a_turn_is_embedded_with_those_before_it() -> None:
    documents = (
        Document("a", "one", scope="s", time="2024-01-01"),
        Document("b", "two", scope="s", time="2024-01-01"),
        Document("c", "three", scope="s", time="2024-01-01"),
        Document("d", "four", scope="s", time="2024-01-01"),
        Document("e", "alone", title="page"),
    )
    texts = texts_with_context(EvaluationSet("set", documents, (), {}, ""))
    assert texts == ["one", "one\ntwo", "one\ntwo\nthree", "two\nthree\nfour", "page\nalone"]


def test_models_are_compared_by_cost_and_quality(
    home_with_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data" / "pets"
    data.mkdir(parents=True)
    texts = {"cat": "The cat sleeps on the sofa.", "tax": "Taxes are due in April."}
    (data / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": id, "text": text}) + "\n" for id, text in texts.items())
    )
    (data / "queries.jsonl").write_text('{"_id": "q", "text": "Where does the kitten nap?"}\n')
    (data / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tcat\t1\n")
    monkeypatch.setenv("RECOLLECT_HOME", str(home_with_model))
    report = tmp_path / "report.json"
    arguments = ["models", "--data", str(tmp_path / "data"), "--models", "minilm"]
    result = run_command([*arguments, "--json", str(report)], app)
    assert result.exit_code == 0, result.output
    document = json.loads(report.read_text())
    (quality,) = document["quality"]
    assert quality == {
        "model": "minilm",
        "set": "pets",
        "questions": 1,
        "r_at_10": 100.0,
        "ndcg_at_10": 100.0,
        "mean_rr": 100.0,
    }
    (cost,) = document["costs"]
    assert 20 < cost["disk_mb"] < 30
    assert min(cost["query_ms"], cost["query_cpu_ms"], cost["resident_mb"]) > 0
    assert cost["cpu_s_per_1000_with_tokens"] > 0
    assert cost["token_bytes_per_document"] > 48 * 5
    assert "pets" in result.stdout
