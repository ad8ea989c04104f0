"""Finished runs are kept, and only used for what they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.bench.made_runs import evaluation_set, right, run

from recollect.bench.runs.run_cache import RunCache

DATA = evaluation_set("facts", ["all"] * 5)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    cache = RunCache(tmp_path, "minilm")
    made = run(DATA, "default", right(DATA, 3), 5.0)
    assert cache.read(DATA, made.config, timed=True) is None
    cache.write(DATA, [made])
    assert cache.read(DATA, made.config, timed=True) == made


def test_a_run_without_times_is_not_used_where_they_are_wanted(tmp_path: Path) -> None:
    cache = RunCache(tmp_path, "minilm")
    made = run(DATA, "default", right(DATA, 3))
    cache.write(DATA, [made])
    assert cache.read(DATA, made.config, timed=True) is None
    assert cache.read(DATA, made.config, timed=False) == made


def test_a_run_of_other_data_settings_or_models_is_not_used(tmp_path: Path) -> None:
    cache = RunCache(tmp_path, "minilm")
    made = run(DATA, "default", right(DATA, 3))
    cache.write(DATA, [made])
    assert cache.read(replace(DATA, digest="1" * 64), made.config, timed=False) is None
    fewer = replace(DATA, documents=DATA.documents[1:])
    assert cache.read(fewer, made.config, timed=False) is None
    other = replace(made.config, settings={"depth": 20})
    assert cache.read(DATA, other, timed=False) is None
    assert RunCache(tmp_path, "mpnet").read(DATA, made.config, timed=False) is None
