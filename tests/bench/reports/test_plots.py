"""Which plots are drawn, from which figures, and that they are reproducible."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench.made_runs import evaluation_set, right, run

from recollect_bench.reports.plots import write_plots
from recollect_bench.reports.sweeps import find_curves
from recollect_bench.scores.report import Report
from recollect_bench.scores.scoring import score_runs
from recollect_bench.scores.summary import make_report

SETS = [evaluation_set(name, ["easy", "hard", "hard"]) for name in ("one", "two")]
SWEEP = ["rrf:rrf_k=10", "rrf:rrf_k=60", "rrf:rrf_k=2"]


def _report(configs: list[str], *took_ms: float) -> Report:
    runs = [
        run(data, config, right(data, number % 3 + 1), *took_ms)
        for data in SETS
        for number, config in enumerate(configs)
    ]
    return make_report(
        score_runs(SETS, runs), against=configs[0], seed=1, provenance={}, metrics=["R@10"]
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(["default", "lexical"], {}, id="no parameters"),
        pytest.param(["rrf:rrf_k=1", "rrf:rrf_k=2"], {}, id="two points are no curve"),
        pytest.param(SWEEP, {("rrf_k", "rrf"): [2, 10, 60]}, id="ascending by number"),
        pytest.param(
            [f"rrf:rrf_k={k}:depth={depth}" for k in (1, 2, 3) for depth in (20, 50, 90)],
            {
                **{("rrf_k", f"rrf:depth={depth}"): [1, 2, 3] for depth in (20, 50, 90)},
                **{("depth", f"rrf:rrf_k={k}"): [20, 50, 90] for k in (1, 2, 3)},
            },
            id="a grid is curves both ways",
        ),
        pytest.param(
            [f"default:embedded={text}" for text in ("content", "alone", "first")],
            {},
            id="names are no numbers",
        ),
    ],
)
def test_configurations_that_differ_in_one_number_are_a_curve(
    names: list[str], expected: dict[tuple[str, str], list[float]]
) -> None:
    found = {
        (curve.parameter, curve.label): [x for x, _ in curve.points] for curve in find_curves(names)
    }
    assert found == expected


@pytest.mark.parametrize(
    ("configs", "took_ms", "expected"),
    [
        pytest.param(["a", "b"], (), {"strata", "sets"}, id="quality"),
        pytest.param(SWEEP, (), {"strata", "sets", "sweep"}, id="sweep"),
        pytest.param(
            ["a", "b"], (1.0, 2.0), {"strata", "sets", "latency", "quality-latency"}, id="timed"
        ),
        pytest.param(
            [f"c{number}" for number in range(30)], (), {"strata", "sets"}, id="very many"
        ),
    ],
)
def test_plots_are_drawn_for_the_figures_that_exist(
    configs: list[str], took_ms: tuple[float, ...], expected: set[str], tmp_path: Path
) -> None:
    files = write_plots(_report(configs, *took_ms), tmp_path / "plots")
    assert {file.stem for file in files} == expected
    assert all(file.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") for file in files)


def test_plots_are_reproducible_and_differ_between_reports(tmp_path: Path) -> None:
    first, same, other = (
        [file.read_bytes() for file in write_plots(_report(configs), tmp_path / name)]
        for name, configs in (("1", ["a", "b"]), ("2", ["a", "b"]), ("3", ["b", "a"]))
    )
    assert first == same
    assert first != other
