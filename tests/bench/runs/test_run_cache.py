"""Finished runs are cached, and reused only for the same data, settings and models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.bench.made_runs import evaluation_set, right, run

from recollect_bench.runs.run_cache import RunCache, digest_code

DATA = evaluation_set("facts", ["all"] * 5)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    cache = RunCache(tmp_path, "minilm")
    finished = run(DATA, "default", right(DATA, 3))
    assert cache.read(DATA, finished.config) is None
    cache.write(DATA, [finished])
    assert cache.read(DATA, finished.config) == finished


def test_a_run_of_other_data_settings_or_models_is_not_used(tmp_path: Path) -> None:
    cache = RunCache(tmp_path, "minilm")
    finished = run(DATA, "default", right(DATA, 3))
    cache.write(DATA, [finished])
    assert cache.read(replace(DATA, digest="1" * 64), finished.config) is None
    fewer = replace(DATA, documents=DATA.documents[1:])
    assert cache.read(fewer, finished.config) is None
    other = replace(finished.config, settings={"depth": 20})
    assert cache.read(DATA, other) is None
    assert RunCache(tmp_path, "mpnet").read(DATA, finished.config) is None


@pytest.mark.parametrize(
    ("name", "is_used"),
    [
        ("recollect/core/fusion.py", False),
        ("recollect/adapters/search.sql", False),
        ("recollect_bench/runs/run.py", False),
        ("recollect_bench/reports/table.py", True),
        ("recollect/core/__pycache__/fusion.pyc", True),
    ],
)
def test_a_run_of_other_code_is_not_used(name: str, is_used: bool, tmp_path: Path) -> None:
    packages = (tmp_path / "recollect", tmp_path / "recollect_bench")
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text("first")
    before = digest_code(*packages)
    digest_code.cache_clear()
    file.write_text("second")
    assert (digest_code(*packages) == before) == is_used
