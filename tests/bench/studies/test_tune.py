"""Choosing and confirming, as arithmetic on runs that are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import pytest

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect_bench.data.datasets import Document, EvaluationSet, Question
from recollect_bench.runs.configs import Config, Layout, parse_configs
from recollect_bench.runs.run import Answer, Run
from recollect_bench.scores.scoring import Scored, score_runs
from recollect_bench.studies.tune import (
    CURRENT,
    DEFAULT_SWEEP,
    MIN_QUESTIONS,
    Tuning,
    as_dict,
    build_candidates,
    changes,
    commands,
    split_halves,
    tune,
)

METRIC = "RR"
NOTHING: dict[str, int] = {}


def _set(name: str, count: int, strata: Sequence[str] = ("a", "b")) -> EvaluationSet:
    """Build a set in which document i answers question i, with as many other documents."""
    documents = tuple(Document(f"d{number}", f"text{number}") for number in range(2 * count))
    questions = tuple(
        Question(f"q{number}", f"question{number}", strata[number % len(strata)])
        for number in range(count)
    )
    gold = {f"q{number}": {f"d{number}": 1} for number in range(count)}
    return EvaluationSet(name, documents, questions, gold, "")


def _run(data: EvaluationSet, config: str, ranks: Mapping[str, int]) -> Run:
    """Build a run with each question's answer at the given rank; 0 means not found."""

    def ranking(number: int, rank: int) -> tuple[str, ...]:
        others = tuple(f"d{len(data.questions) + place}" for place in range(9))
        return (*others[: rank - 1], f"d{number}") if rank else others

    answers = {
        question.id: Answer(ranking(number, ranks.get(question.id, 1)), {})
        for number, question in enumerate(data.questions)
    }
    return Run(data.name, Config(config), answers)


def _tune(data: EvaluationSet, ranks: Mapping[str, Mapping[str, int]], seed: int = 1) -> Tuning:
    runs = [_run(data, name, each) for name, each in ranks.items()]
    return tune(score_runs([data], runs), METRIC, seed)


def _rank_all(data: EvaluationSet, rank: int) -> dict[str, int]:
    return {question.id: rank for question in data.questions}


def test_tune_recommends_what_is_better_on_both_halves() -> None:
    data = _set("one", 40)
    tuning = _tune(
        data,
        {CURRENT: _rank_all(data, 4), "worse": _rank_all(data, 5), "better": _rank_all(data, 2)},
    )
    assert (tuning.chosen, tuning.recommended) == ("better", True)
    assert tuning.means == pytest.approx({CURRENT: 1 / 4, "worse": 1 / 5, "better": 1 / 2})
    assert tuning.held_out.value == pytest.approx(1 / 2 - 1 / 4)
    assert tuning.held_out.count == 20
    assert tuning.held_out.p < 0.001
    assert tuning.per_set["one"].value == tuning.held_out.value


def test_tune_keeps_current_settings_on_a_tie() -> None:
    data = _set("one", 40)
    for names in (("same", CURRENT), (CURRENT, "same")):
        tuning = _tune(data, {name: _rank_all(data, 3) for name in names})
        assert (tuning.chosen, tuning.recommended) == (CURRENT, False)
        assert (tuning.held_out.value, tuning.held_out.p) == (0.0, 1.0)


def test_tune_rarely_recommends_a_lucky_candidate() -> None:
    """On the half it was chosen on, it nearly always looks better. The other half is not misled
    more often than a 95% interval allows, which errs upward once in forty.
    """
    data = _set("one", 60)
    names = (CURRENT, *(f"tried{number}" for number in range(20)))
    runs = {name: _run(data, name, {}) for name in names}
    looked_better, recommended = 0, 0
    for seed in range(100):
        random = Random(seed)
        values = {
            name: {METRIC: {question.id: random.random() for question in data.questions}}
            for name in names
        }
        tuning = tune([Scored(data, {}, runs, values)], METRIC, seed)
        looked_better += tuning.means[tuning.chosen] > tuning.means[CURRENT]
        recommended += tuning.recommended
    assert looked_better > 90
    assert recommended <= 8


def test_tune_does_not_recommend_a_gain_on_the_choosing_half_only() -> None:
    data = _set("one", 40)
    choosing, confirming = split_halves([data], 1)
    fitted = {**dict.fromkeys(choosing["one"], 1), **dict.fromkeys(confirming["one"], 9)}
    tuning = _tune(data, {CURRENT: _rank_all(data, 2), "fitted": fitted})
    assert (tuning.chosen, tuning.recommended) == ("fitted", False)
    assert tuning.held_out.value == pytest.approx(1 / 9 - 1 / 2)


def test_tune_does_not_choose_a_gain_on_the_confirming_half_only() -> None:
    data = _set("one", 40)
    choosing, confirming = split_halves([data], 1)
    unseen = {**dict.fromkeys(choosing["one"], 3), **dict.fromkeys(confirming["one"], 1)}
    tuning = _tune(data, {CURRENT: _rank_all(data, 2), "unseen": unseen})
    assert (tuning.chosen, tuning.recommended) == (CURRENT, False)


def test_each_set_counts_once_however_many_questions_it_has() -> None:
    small, large = _set("small", 20), _set("large", 200)
    runs = [
        _run(small, CURRENT, _rank_all(small, 2)),
        _run(small, "tried", _rank_all(small, 1)),
        _run(large, CURRENT, _rank_all(large, 2)),
        _run(large, "tried", _rank_all(large, 4)),
    ]
    tuning = tune(score_runs([small, large], runs), METRIC, 1)
    assert tuning.means == pytest.approx({CURRENT: 1 / 2, "tried": (1 + 1 / 4) / 2})
    assert tuning.chosen == "tried"
    assert tuning.held_out.value == pytest.approx((1 / 2 - 1 / 4) / 2)
    assert {name: difference.count for name, difference in tuning.per_set.items()} == {
        "small": 10,
        "large": 100,
    }


def test_split_halves_divides_every_stratum_by_seed() -> None:
    data = _set("one", 61, strata=("a", "a", "b"))
    stratum = {question.id: question.stratum for question in data.questions}
    for seed in range(10):
        first, second = split_halves([data], seed)
        assert sorted((*first["one"], *second["one"])) == sorted(stratum)
        here, there = (Counter(stratum[id] for id in half["one"]) for half in (first, second))
        for name in ("a", "b"):
            assert abs(here[name] - there[name]) <= 1
        assert split_halves([data], seed) == (first, second)
        assert split_halves([data], seed + 1) != (first, second)


def test_split_halves_divides_many_small_strata_evenly() -> None:
    data = _set("one", 40, strata=[f"s{number}" for number in range(40)])
    first, second = split_halves([data], 1)
    assert len(first["one"]) == len(second["one"]) == 20


def test_split_halves_rejects_too_few_questions() -> None:
    split_halves([_set("enough", MIN_QUESTIONS)], 1)
    with pytest.raises(InvalidInput, match="few has 19 questions"):
        split_halves([_set("few", MIN_QUESTIONS - 1)], 1)


def test_candidates_are_changes_to_the_current_settings() -> None:
    weights = {"lexical_weight": 1.0, "dense_weight": 1.0, "graph_weight": 0.35}
    others = {"depth": 80, "second_stage": "off", "deadline_ms": 300}
    present = RecallSettings().changed({**weights, **others})
    tried = build_candidates(
        parse_configs("default:dense_weight=3,lexical,default:depth=80"), present
    )
    assert [config.name for config in tried] == [CURRENT, "default:dense_weight=3", "lexical"]
    assert tried[0].settings["depth"] == tried[1].settings["depth"] == 80
    assert "second_stage" not in tried[0].settings
    assert changes(present, tried[0]) == NOTHING
    assert changes(present, tried[1]) == {"dense_weight": 3.0}
    assert changes(present, tried[2]) == {"dense_weight": 0.0, "graph_weight": 0.0}


def test_candidates_must_share_one_layout() -> None:
    tried = build_candidates(parse_configs("local-fts:depth=10|20"), RecallSettings())
    assert {config.layout for config in tried} == {Layout(engine="sqlite")}
    with pytest.raises(InvalidInput, match="more than settings"):
        build_candidates(parse_configs("lexical,local-fts"), RecallSettings())


def test_recommended_commands_can_be_typed() -> None:
    changes = {"dense_weight": 2.0, "fusion": "convex", "rrf_k": 10, "second_stage": "off"}
    assert commands(changes) == [
        "recollect settings set dense_weight 2",
        "recollect settings set fusion convex",
        "recollect settings set rrf_k 10",
        "recollect settings set second_stage off",
    ]


def test_default_sweep_uses_only_valid_settings() -> None:
    tried = build_candidates(parse_configs(DEFAULT_SWEEP), RecallSettings())
    assert len(tried) > 10
    assert {config.layout for config in tried} == {Layout()}
    for config in tried[1:]:
        settings = changes(RecallSettings(), config)
        typed = dict(command.split()[-2:] for command in commands(settings))
        assert settings
        assert RecallSettings().changed(typed) == RecallSettings().changed(config.settings)


def test_tuning_as_dict_has_every_field_for_scripts() -> None:
    data = _set("one", 40)
    tuning = _tune(data, {CURRENT: _rank_all(data, 2), "better": _rank_all(data, 1)})
    report = as_dict(tuning, {"depth": 20})
    assert (report["metric"], report["seed"], report["chosen"]) == (METRIC, 1, "better")
    assert report["tried"] == [
        {"config": CURRENT, "value": 0.5},
        {"config": "better", "value": 1.0},
    ]
    assert report["held_out"].keys() == {"value", "low", "high", "p", "queries"}
    assert report["held_out_by_set"] == {"one": report["held_out"]}
    assert (report["recommended"], report["changes"]) == (True, {"depth": 20})
    assert report["commands"] == ["recollect settings set depth 20"]
