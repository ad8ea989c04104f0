"""`recollect bench study` writes the page with its figures and plots, as one would publish it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.bench.made_runs import evaluation_set, right, run
from tests.shells.cli.commands import Cli

from recollect.core.errors import InvalidInput
from recollect_bench.cli.study import write_studies
from recollect_bench.reports.as_json import as_json, from_json
from recollect_bench.reports.machine import provenance
from recollect_bench.runs.configs import parse_configs
from recollect_bench.scores.metrics import METRICS
from recollect_bench.scores.report import Report
from recollect_bench.scores.scoring import score_runs
from recollect_bench.scores.summary import make_report
from recollect_bench.studies import studies
from recollect_bench.studies.page import render_page, render_study, write_figures, write_study_page
from recollect_bench.studies.studies import STUDIES, Study, select_studies

FUSION = Study(
    slug="fusion",
    title="RRF, or convex?",
    question="Which fusion is better?",
    configs="rrf,convex",
    baseline="rrf",
    verdict="It depends. More of this below.",
    limits=("Only two sets.",),
)
SETS = [evaluation_set(name, ["easy"] * 5) for name in ("one", "two")]
ORIGIN = provenance(SETS, parse_configs(FUSION.configs), seed=1, embedder="minilm")


@pytest.fixture(scope="module", autouse=True)
def without_data() -> Iterator[None]:
    """Ignore a folder that the environment names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RECOLLECT_BENCH_DATA", raising=False)
        yield


def _report(configs: tuple[str, ...] = ("rrf", "convex")) -> Report:
    runs = [
        run(data, config, right(data, 2 + number), 5.0, 6.0)
        for data in SETS
        for number, config in enumerate(configs)
    ]
    return make_report(
        score_runs(SETS, runs),
        against=configs[0],
        seed=1,
        provenance=ORIGIN,
        metrics=FUSION.metrics,
        strata=FUSION.strata,
    )


def _modification_times(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}


@pytest.mark.parametrize("study", STUDIES, ids=[study.slug for study in STUDIES])
def test_every_study_can_be_run(study: Study) -> None:
    names = [config.name for config in study.parse_configs()]
    assert study.baseline in names
    assert set(study.metrics) <= set(METRICS)
    assert study.verdict.endswith(".")
    assert re.fullmatch("[a-z0-9-]+", study.slug)


def test_study_slugs_and_titles_are_unique() -> None:
    assert len({study.slug for study in STUDIES}) == len(STUDIES)
    assert len({study.title for study in STUDIES}) == len(STUDIES)


def test_select_studies_by_slug() -> None:
    other = replace(FUSION, slug="other")
    assert select_studies([FUSION, other], None) == [FUSION, other]
    assert select_studies([FUSION, other], "other, fusion") == [FUSION, other]
    assert select_studies([FUSION, other], "other") == [other]
    with pytest.raises(InvalidInput, match="no study named 'fuson'"):
        select_studies([FUSION, other], "fuson")


def test_study_page_shows_answers_figures_and_limits() -> None:
    text = render_page([(FUSION, _report())], ORIGIN)
    assert "- **[RRF, or convex?](benchmark/fusion.md).** It depends. More of this below." in text
    assert "| rrf | 40.0 (" in text
    assert "| convex | +20.0 (" not in text
    assert "## Limits of the evidence" in text
    assert "sha256 prefix" in text


def test_a_study_has_a_page_with_all_its_tables() -> None:
    text = render_study(FUSION, _report())
    assert text.startswith("# RRF, or convex?\n")
    assert "**Verdict.** It depends. More of this below." in text
    assert "| rrf | 40.0 (" in text
    assert "| convex | +20.0 (" in text
    assert "![RRF, or convex?](fusion.png)" in text
    assert "recollect bench study --data DIR --only fusion" in text
    assert "- Only two sets." in text


def test_report_round_trips_through_json() -> None:
    report = _report()
    assert as_json(from_json(as_json(report))) == as_json(report)
    assert from_json(as_json(report)).configs == report.configs


@pytest.mark.parametrize("plot", ["sets", "strata"])
def test_write_figures_creates_json_and_plot(plot: studies.Plot, tmp_path: Path) -> None:
    report = _report()
    write_figures(replace(FUSION, plot=plot), report, tmp_path)
    assert write_study_page([FUSION, replace(FUSION, slug="unmeasured")], tmp_path) == 1
    assert json.loads((tmp_path / "benchmark/fusion.json").read_text())["against"] == "rrf"
    assert (tmp_path / "benchmark/fusion.png").stat().st_size > 5_000
    assert (tmp_path / "benchmark.md").read_text().startswith("# Benchmark\n")


@pytest.mark.slow
def test_studies_are_measured_once_and_the_page_can_be_rewritten(
    models_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two studies that share what they compare, on the synthetic set."""
    lexical = Study(
        slug="words",
        title="Words",
        question="Which lexical ranking?",
        configs="lexical,local-fts",
        baseline="lexical",
        verdict="Either.",
    )
    elsewhere = replace(lexical, slug="elsewhere", sets=("locomo",))
    several = replace(lexical, slug="several", title="More", configs="lexical,bm25s,local-fts")
    here = (lexical, several, elsewhere)
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RECOLLECT_MODELS", str(models_folder))
    docs = tmp_path / "docs"
    assert write_studies(here, here, None, docs, seed=1) == 2
    words = (docs / "benchmark/words.md").read_text()
    assert words.count("| local-fts |") == 2 * 2  # metrics × tables
    figures = json.loads((docs / "benchmark/words.json").read_text())
    assert {row["config"] for row in figures["results"]} == {"lexical", "local-fts"}
    assert {row["stratum"] for row in figures["results"]} == {"overall"}
    assert not (docs / "benchmark/elsewhere.json").exists()
    text = (docs / "benchmark.md").read_text()
    changed = (replace(lexical, verdict="Neither."), *here[1:])
    assert write_studies(changed, (), None, docs, seed=1) == 2
    again = (docs / "benchmark.md").read_text()
    assert again == text.replace(
        "(benchmark/words.md).** Either.", "(benchmark/words.md).** Neither."
    )
    measured = _modification_times(tmp_path / "home/bench/runs")
    assert len(measured) == 3
    assert write_studies(here, here, None, docs, seed=1) == 2
    assert _modification_times(tmp_path / "home/bench/runs") == measured, (
        "nothing is measured again"
    )
    assert (docs / "benchmark.md").read_text() == text
    assert json.loads((docs / "benchmark/words.json").read_text()) == figures
    with pytest.raises(InvalidInput, match="cannot create"):
        write_studies(here, here, None, Path("/proc/docs"), seed=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "everything"), "no study named 'everything'"),
        (("--data", "nowhere"), "no folder nowhere"),
        ((), "the sets of these studies were not found"),
        (("--page-only", "--out", "."), "there are no figures"),
    ],
)
def test_study_rejects_invalid_options_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = Cli(tmp_path / "home")("bench", "study", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert {file.name for file in tmp_path.iterdir()} <= {"home"}
