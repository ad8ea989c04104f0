"""Finished runs are kept, and only used for what they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.bench.made_runs import evaluation_set, right, run

from recollect_bench.runs.run_cache import RunCache

DATA = evaluation_set("facts", ["all"] * 5)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    cache = RunCache(tmp_path, "minilm")
    made = run(DATA, "default", right(DATA, 3))
    assert cache.read(DATA, made.config) is None
    cache.write(DATA, [made])
    assert cache.read(DATA, made.config) == made


def test_a_run_of_other_data_settings_or_models_is_not_used(tmp_path: Path) -> None:
    cache = RunCache(tmp_path, "minilm")
    made = run(DATA, "default", right(DATA, 3))
    cache.write(DATA, [made])
    assert cache.read(replace(DATA, digest="1" * 64), made.config) is None
    fewer = replace(DATA, documents=DATA.documents[1:])
    assert cache.read(fewer, made.config) is None
    other = replace(made.config, settings={"depth": 20})
    assert cache.read(DATA, other) is None
    assert RunCache(tmp_path, "mpnet").read(DATA, made.config) is None
