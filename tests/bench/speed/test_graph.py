"""The graph-speed command: the same graph for the same seed, and figures for each size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from tests.command_line import run_command

from recollect.core.recall.space import Space
from recollect.ports.embedding import Embedder
from recollect.settings import load
from recollect_bench.cli.app import app
from recollect_bench.speed.corpus import OWNER, Corpus
from recollect_bench.speed.graph import CONCEPTS_PER_MEMORY, make_graph
from recollect_bench.speed.graph_rig import time_legs
from recollect_bench.speed.vectors import Subjects


def test_a_made_up_graph_follows_from_its_seed() -> None:
    one, same, other = make_graph(200, 1), make_graph(200, 1), make_graph(200, 2)
    assert one == same
    assert one != other
    assert len(one.concepts) == 200 * CONCEPTS_PER_MEMORY


def test_graph_speed_reports_every_size(tmp_path: Path) -> None:
    file = tmp_path / "speed.json"
    arguments = ["graph-speed", "--memories", "200,400", "--queries", "3", "--no-legs"]
    result = run_command([*arguments, "--json", str(file)], app)
    assert result.exit_code == 0, result.output
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert [timing["memories"] for timing in results] == [200, 400]
    assert all(
        timing["links"] > 0 and timing["p95_ms"] >= timing["p50_ms"] > 0 for timing in results
    )


@dataclass
class Model:
    """A model that draws vectors with the text as the seed."""

    space: Space = field(default_factory=lambda: Space("test", "1", 8))
    is_hosted: bool = False

    async def embedder(self, name: str) -> Embedder:
        return self

    def at_once(self, texts: Sequence[str]) -> int:
        return len(texts)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        drawn = Random(text)
        return [drawn.gauss() for _ in range(8)]


@pytest.mark.anyio
async def test_graph_speed_times_the_graph_and_dense_legs(empty_database_url: str) -> None:
    """Every query reaches the graph: `time_legs` refuses to time a leg that did not run."""
    corpus, settings = Corpus.seeded(3), load(database_url=empty_database_url, owner=OWNER)
    subjects = Subjects.made_up(corpus, 20)
    found = await time_legs(
        *(settings, empty_database_url, Model(), corpus, subjects, [200, 300]),
        queries=3,
        progress=lambda *_: None,
    )
    assert [(timing.memories, timing.concepts) for timing in found] == [(200, 800), (300, 1200)]
    for timing in found:
        assert timing.graph_p95_ms >= timing.graph_p50_ms > 0
        assert timing.dense_p95_ms >= timing.dense_p50_ms > 0
        assert timing.ratio == pytest.approx(timing.graph_p95_ms / timing.dense_p95_ms, abs=0.0051)


@pytest.mark.parametrize("sizes", ["400,200", "1", "many", ""])
def test_graph_speed_rejects_sizes_that_do_not_ascend(sizes: str) -> None:
    assert run_command(["graph-speed", "--memories", sizes], app).exit_code == 2
