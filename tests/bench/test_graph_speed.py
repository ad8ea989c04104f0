"""The graph-speed command: graphs that are alike for one seed, and figures for each size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recollect.bench.cli import app
from recollect.bench.graph_speed import CONCEPTS_PER_MEMORY, made_up


def test_a_made_up_graph_follows_from_its_seed() -> None:
    one, same, other = made_up(200, 1), made_up(200, 1), made_up(200, 2)
    assert one == same
    assert one != other
    assert len(one.concepts) == 200 * CONCEPTS_PER_MEMORY


def test_every_size_is_told(tmp_path: Path) -> None:
    file = tmp_path / "speed.json"
    arguments = ["graph-speed", "--memories", "200,400", "--queries", "3", "--json", str(file)]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 0, told.output
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert [one["memories"] for one in results] == [200, 400]
    assert all(one["links"] > 0 and one["p95_ms"] >= one["p50_ms"] > 0 for one in results)


@pytest.mark.parametrize("sizes", ["400,200", "1", "many", ""])
def test_sizes_ascend(sizes: str) -> None:
    assert CliRunner().invoke(app, ["graph-speed", "--memories", sizes]).exit_code == 2
