"""Reports on runs whose figures are known."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.bench.made_runs import evaluation_set, right, run

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import MAX_CONTENT_LIMIT
from recollect_bench.data.datasets import NO_STRATUM
from recollect_bench.reports.as_json import as_dict, as_json
from recollect_bench.reports.as_markdown import difference_table, quality_table, render_markdown
from recollect_bench.reports.machine import provenance
from recollect_bench.reports.readable import SHOWN, render_changes
from recollect_bench.runs.configs import parse_configs
from recollect_bench.scores.report import Report
from recollect_bench.scores.scoring import score_runs, strata_of
from recollect_bench.scores.significance import holm
from recollect_bench.scores.summary import make_report

# Ten questions, of which `a` finds 4 and `b` finds 9; and two, of which both find one.
LARGE = evaluation_set("large", ["easy"] * 6 + ["hard"] * 4)
SMALL = evaluation_set("small", [NO_STRATUM] * 2)
RUNS = [
    run(LARGE, "a", right(LARGE, 4), 1.0, 2.0, 3.0),
    run(LARGE, "b", right(LARGE, 9)),
    run(SMALL, "a", right(SMALL, 1)),
    run(SMALL, "b", right(SMALL, 1)),
]
ORIGIN = provenance([LARGE, SMALL], parse_configs("default,bm25s"), seed=1, embedder="minilm")


@pytest.fixture(scope="module")
def report() -> Report:
    found = score_runs([LARGE, SMALL], RUNS)
    return make_report(found, against="a", seed=1, provenance=ORIGIN)


def test_strata_are_all_questions_the_sets_own_and_those_by_rule() -> None:
    strata = strata_of(LARGE)
    assert list(strata)[:3] == ["overall", "easy", "hard"]
    assert len(strata["overall"]) == 10
    assert strata["hard"] == ["q6", "q7", "q8", "q9"]
    by_rule = [ids for name, ids in strata.items() if name.startswith("rule:")]
    assert sorted(id for ids in by_rule for id in ids) == sorted(strata["overall"])
    assert NO_STRATUM not in strata_of(SMALL)


@pytest.mark.parametrize("name", ["overall", "rule:exact"])
def test_a_sets_own_name_does_not_hide_one_of_ours(name: str) -> None:
    strata = strata_of(evaluation_set("odd", [name, "plain"]))
    assert strata[f"own:{name}"] == ["q0"]
    assert strata["overall"] == ["q0", "q1"]


def test_values_are_means_over_the_questions_of_a_stratum(report: Report) -> None:
    found = {
        (row.set, row.config, row.stratum): (row.value, row.queries)
        for row in report.results
        if row.metric == "R@10"
    }
    assert found["large", "a", "overall"] == (4 / 10, 10)
    assert found["large", "a", "easy"] == (round(4 / 6, 6), 6)
    assert found["large", "a", "hard"] == (0, 4)
    assert found["large", "b", "hard"] == (3 / 4, 4)
    assert found["small", "a", "overall"] == (1 / 2, 2)


def test_each_set_counts_once_in_the_mean(report: Report) -> None:
    means = {
        row.config: row for row in report.means if (row.metric, row.stratum) == ("R@10", "overall")
    }
    assert means["a"].value == pytest.approx((4 / 10 + 1 / 2) / 2)
    assert (means["a"].sets, means["a"].queries) == (2, 12)
    (difference,) = (
        row for row in report.mean_differences if (row.metric, row.stratum) == ("R@10", "overall")
    )
    assert difference.value == pytest.approx((5 / 10 + 0) / 2)


def test_a_set_that_lacks_a_configuration_keeps_it_out_of_the_mean() -> None:
    found = score_runs([LARGE, SMALL], RUNS[:3])
    report = make_report(found, against="a", seed=1, provenance={})
    assert {row.config for row in report.means} == {"a"}
    assert report.mean_differences == ()
    assert {row.set for row in report.differences} == {"large"}


def test_p_is_corrected_within_a_metric_and_a_kind_of_stratum(report: Report) -> None:
    rows = [row for row in report.differences if row.metric == "R@10"]
    families = (
        {"overall"},
        {"easy", "hard"},
        {row.stratum for row in rows if row.stratum.startswith("rule:")},
    )
    for strata in families:
        family = [row for row in rows if row.stratum in strata]
        expected = holm({f"{row.set} {row.stratum}": row.p for row in family})
        assert len(family) > 1
        assert [row.p_holm for row in family] == pytest.approx(list(expected.values()), abs=2e-6)


def test_a_question_alone_shows_nothing_and_json_can_say_so() -> None:
    data = evaluation_set("one", ["only"])
    found = score_runs([data], [run(data, "a", {}), run(data, "b", right(data, 1))])
    report = make_report(found, against="a", seed=1, provenance={})
    assert {row.detectable for row in report.differences} == {None}
    assert json.loads(as_json(report))["differences"][0]["detectable"] is None


def test_only_what_is_asked_for_is_computed() -> None:
    found = score_runs([LARGE], RUNS)
    report = make_report(
        found, against="a", seed=1, provenance={}, metrics=["RR"], strata=["overall", "hard"]
    )
    assert {(row.stratum, row.metric) for row in report.results} == {
        ("overall", "RR"),
        ("hard", "RR"),
    }
    assert {row.stratum for row in report.differences} == {"overall", "hard"}
    assert {row.stratum for row in report.means} == {"overall"}


def test_baseline_must_have_been_run() -> None:
    with pytest.raises(InvalidInput, match="'c' is not one") as caught:
        make_report(score_runs([LARGE], RUNS), against="c", seed=1, provenance={})
    assert caught.value.remedy == "Choose one of: a, b."


def test_percentiles_of_what_was_timed(report: Report) -> None:
    (timed,) = report.latency
    assert (timed.set, timed.config, timed.p50_ms, timed.queries) == ("large", "a", 2.0, 3)
    assert timed.p95_ms == pytest.approx(2.9)


def test_questions_won_and_lost_are_counted(report: Report) -> None:
    moved = {row.set: (row.won, row.lost, row.equal) for row in report.moved}
    assert moved == {"large": (5, 0, 5), "small": (0, 0, 2)}


def test_json_has_the_whole_report_with_one_row_per_line(report: Report) -> None:
    text = as_json(report)
    assert json.loads(text) == as_dict(report)
    lines = [line for line in text.splitlines() if '"stratum": "hard"' in line]
    strata = [row.stratum for row in report.results] + [row.stratum for row in report.differences]
    assert len(lines) == strata.count("hard")
    assert text == as_json(report)


def test_markdown_shows_values_differences_and_origin(report: Report) -> None:
    assert "| a | 40.0 (10.0–70.0) | 50.0 (0.0–100.0) | 45.0 (" in quality_table(report, "R@10")
    table = difference_table(report, "R@10")
    assert "| b | +50.0 (+20.0 to +80.0), p .1" in table
    assert "| a |" not in table
    assert "80% power, for b: large " in table
    page = render_markdown(report)
    assert "| large | 10 | 10 | 0 | 000000000000 |" in page
    assert "## Recall time" in page
    assert "## Strata, R@10" in page
    assert "## Strata, RR" in render_markdown(replace(report, metrics=("RR",)))
    significant = replace(report.differences[0], metric="R@10", stratum="overall", p_holm=0.049)
    assert "**+50.0**" in difference_table(
        replace(report, differences=(replace(significant, value=0.5),)), "R@10"
    )


def test_a_name_cannot_break_a_table() -> None:
    data = evaluation_set("odd|set", ["x|y"] * 2)
    found = score_runs([data], [run(data, "a:b=1|2", right(data, 1))])
    page = render_markdown(make_report(found, against="a:b=1|2", seed=1, provenance=ORIGIN))
    assert "| a:b=1\\|2 |" in page
    assert "odd|set |" not in page


def test_the_questions_won_are_shown_up_to_a_number() -> None:
    data = evaluation_set("many", ["all"] * (SHOWN + 5))
    runs = [run(data, "a", {}), run(data, "b", right(data, SHOWN + 5))]
    page = render_changes(score_runs([data], runs), "a")
    assert f"## Won, the {SHOWN} largest of {SHOWN + 5}" in page
    assert page.count("### q") == SHOWN
    assert "✓ d0 fact number 0 of many" in page
    assert "# many: from a to b" in page


def test_provenance_follows_data_and_settings() -> None:
    configs = ORIGIN["configs"]
    assert configs["default"]["layout"]["embedder"] == "minilm"
    assert isinstance(configs["bm25s"]["layout"]["stemmed"], bool)
    other = provenance([LARGE], parse_configs("default:rrf_k=61"), seed=1, embedder="minilm")
    assert other["settings_digest"] != ORIGIN["settings_digest"]
    assert other["data"].keys() == {"large"}


def test_provenance_counts_what_was_cut() -> None:
    long = replace(LARGE.documents[0], text="x" * (MAX_CONTENT_LIMIT + 1))
    data = replace(LARGE, documents=(long, *LARGE.documents[1:]))
    found = provenance([data], parse_configs("rrf"), seed=1, embedder="minilm")
    assert (found["data"]["large"]["cut"], ORIGIN["data"]["large"]["cut"]) == (1, 0)
