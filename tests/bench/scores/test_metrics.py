"""The metrics against sums done by hand, and against values that trec_eval produced."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random

import pytest

from recollect_bench.scores.metrics import ALL_GOLD, METRICS, TOP, means, score

# By pytrec-eval-terrier 0.5.11, which has no wheel for every machine that runs this test.
_TREC_EVAL = json.loads(Path(__file__).with_name("trec_eval.json").read_text())

_NOT_IN_FILE = {"R@1", "R@3", "P@1", ALL_GOLD}


def _list(length: int, **at: int) -> list[str]:
    """Return irrelevant documents, with the named ones at their ranks."""
    documents = [f"other{rank}" for rank in range(1, length + 1)]
    for name, rank in at.items():
        documents[rank - 1] = name
    return documents


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


_FULL_OF_TWO = _discount(1) + _discount(2)


@pytest.mark.parametrize(
    ("labels", "documents", "expected"),
    [
        pytest.param(
            {"x": 1}, ["x"], [1, 1, 1, 1, 1, 1, 1, 1, 1], id="the only gold document comes first"
        ),
        pytest.param(
            {"x": 1},
            _list(30, x=3),
            [0, 1, 1, 1, 1, _discount(3), 0, 1 / 3, 1],
            id="it comes third",
        ),
        pytest.param(
            {"x": 1},
            _list(30, x=10),
            [0, 0, 0, 1, 1, _discount(10), 0, 1 / 10, 1],
            id="the tenth place counts",
        ),
        pytest.param(
            {"x": 1}, _list(30, x=11), [0, 0, 0, 0, 1, 0, 0, 1 / 11, 0], id="the eleventh does not"
        ),
        pytest.param(
            {"x": 1}, _list(30, x=21), [0, 0, 0, 0, 0, 0, 0, 1 / 21, 0], id="RR has no end"
        ),
        pytest.param({"x": 1}, _list(30), [0, 0, 0, 0, 0, 0, 0, 0, 0], id="it is not found"),
        pytest.param(
            {"x": 1, "y": 1},
            _list(30, x=2, y=7),
            [0, 1 / 2, 1 / 2, 1, 1, (_discount(2) + _discount(7)) / _FULL_OF_TWO, 0, 1 / 2, 1],
            id="two gold documents, both in ten",
        ),
        pytest.param(
            {"x": 1, "y": 1, "z": 1},
            _list(30, x=1, y=4, z=15),
            [
                1 / 3,
                1 / 3,
                2 / 3,
                2 / 3,
                1,
                (_discount(1) + _discount(4)) / (_FULL_OF_TWO + _discount(3)),
                1,
                1,
                0,
            ],
            id="three gold documents, one past ten",
        ),
        pytest.param(
            {"x": 1, "y": 3},
            _list(30, x=1, y=2),
            [
                1 / 2,
                1,
                1,
                1,
                1,
                (1 * _discount(1) + 3 * _discount(2)) / (3 * _discount(1) + 1 * _discount(2)),
                1,
                1,
                1,
            ],
            id="labels are gains",
        ),
    ],
)
def test_metrics_match_values_computed_by_hand(
    labels: dict[str, int], documents: list[str], expected: list[float]
) -> None:
    found = score({"q": labels}, {"q": documents})
    assert [found[metric]["q"] for metric in METRICS] == pytest.approx(expected)


def test_a_question_without_results_counts_as_0() -> None:
    gold = {"found": {"x": 1}, "empty": {"x": 1}, "absent": {"x": 1}}
    found = score(gold, {"found": ["x"], "empty": []})
    assert list(found) == list(METRICS)
    for metric in METRICS:
        assert found[metric] == {"found": 1, "empty": 0, "absent": 0}
        assert means(found[metric], gold) == pytest.approx(1 / 3)


def test_nothing_found_for_any_question_is_0_everywhere() -> None:
    assert score({"q": {"x": 1}}, {}) == {metric: {"q": 0} for metric in METRICS}


def test_a_question_without_gold_takes_no_part() -> None:
    found = score({"q": {"x": 1}}, {"q": ["x"], "unlabelled": ["x"]})
    assert all(values.keys() == {"q"} for values in found.values())


def test_a_label_of_0_is_no_gold() -> None:
    labels = {"x": 1, "y": 0}
    found = score({"q": labels, "none": {"y": 0}}, {"q": ["x"], "none": ["y"]})
    assert all(values == {"q": 1, "none": 0} for values in found.values())


def _random_run(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, list[str]]]:
    random = Random(seed)
    documents = [f"d{number}" for number in range(60)]
    gold, ranking = {}, {}
    for number in range(100):
        relevant = random.sample(documents, random.randint(1, 6))
        gold[f"q{number}"] = {document: random.randint(1, 3) for document in relevant}
        ranking[f"q{number}"] = random.sample(documents, random.randint(0, 60))
    return gold, ranking


@pytest.mark.parametrize("case", _TREC_EVAL)
def test_metrics_agree_with_trec_eval(case: str) -> None:
    gold, run, values = (_TREC_EVAL[case][part] for part in ("gold", "run", "values"))
    ranking = {question: _order(scores) for question, scores in run.items()}
    found = score(gold, ranking)
    for question in gold:
        # trec_eval leaves out what was not answered; here it counts as 0.
        expected = values.get(question, dict.fromkeys(METRICS, 0.0))
        assert {metric: found[metric][question] for metric in expected} == pytest.approx(expected)
        assert {*expected, *_NOT_IN_FILE} >= set(METRICS)


def _order(scores: dict[str, float]) -> list[str]:
    """Sort as trec_eval does: by score, then by id, both descending."""
    return sorted(scores, key=lambda document: (scores[document], document), reverse=True)


def test_all_gold_is_recall_that_is_complete() -> None:
    gold, ranking = _random_run(seed=4)
    found = score(gold, ranking)
    complete = {question: float(value == 1) for question, value in found["R@10"].items()}
    assert found[ALL_GOLD] == complete
    assert 0 < means(complete, gold) < 1
    assert TOP == 10


def test_the_given_order_is_kept_in_a_list_of_any_length() -> None:
    """Scores that become equal in single precision would be put in order by their ids."""
    length = 50_000
    documents = [f"{number:06}" for number in range(length)]
    for order in (documents, documents[::-1]):
        found = score({"q": {order[-1]: 1}}, {"q": order})
        assert found["RR"]["q"] == pytest.approx(1 / length)


def test_the_same_ranking_gives_the_same_values_in_the_same_order() -> None:
    gold, ranking = _random_run(seed=5)
    first, shuffled = score(gold, ranking), dict(reversed(ranking.items()))
    assert list(map(list, first.values())) == [list(gold)] * len(METRICS)
    assert score(gold, shuffled) == first


def test_a_document_twice_in_one_ranking_is_refused() -> None:
    with pytest.raises(ValueError, match="'q' names a document twice"):
        score({"q": {"x": 1}}, {"q": ["x", "y", "x"]})


def test_a_mean_is_over_the_questions_asked_for() -> None:
    values = {"a": 1.0, "b": 0.5, "c": 0.0}
    assert means(values, ["a", "b"]) == 0.75
    assert means(values, values) == 0.5
