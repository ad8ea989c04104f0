"""How good one ranking is for each question, by the field's own arithmetic.

The metrics are those of ir-measures, under its names, so that a figure means here what it means in
a paper:

    R@5, R@10, R@20   the share of the question's gold documents among the first 5, 10 or 20
    nDCG@10           the same, a document lower in the list counting less; gains are the labels
    RR                1 / the rank of the first gold document; its mean is the MRR

One is our own, because questions of several hops need it and ir-measures has none:

    AllGold@10        1 when every gold document is among the first ten, else 0

Every question of the gold has a value. One that nothing was found for counts as 0, and is not left
out of the mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from recollect.bench.data.datasets import Gold
from recollect.bench.extra import bench_extra

Ranking = Mapping[str, Sequence[str]]
"""Question id to document ids, best first."""

ALL_GOLD: Final = "AllGold@10"
METRICS: Final = ("R@5", "R@10", "R@20", "nDCG@10", "RR", ALL_GOLD)
TOP: Final = 10


def score(gold: Gold, ranking: Ranking) -> dict[str, dict[str, float]]:
    """Metric to question id to value, in the order of METRICS and of the gold."""
    with bench_extra():
        import ir_measures

    values = {metric: dict.fromkeys(gold, 0.0) for metric in METRICS}
    measures = {ir_measures.parse_measure(each): each for each in METRICS if each != ALL_GOLD}
    run = {question: _descending(question, ranking.get(question, ())) for question in gold}
    for found in ir_measures.iter_calc(measures, gold, run):
        values[measures[found.measure]][found.query_id] = float(found.value)
    for question, labels in gold.items():
        wanted, first = relevant(labels), set(ranking.get(question, ())[:TOP])
        values[ALL_GOLD][question] = float(bool(wanted) and wanted <= first)
    return values


def means(values: Mapping[str, float], questions: Iterable[str]) -> float:
    """The mean over some of the questions, of which there must be at least one."""
    return fmean(values[question] for question in questions)


def relevant(labels: Mapping[str, int]) -> set[str]:
    """The documents that answer the question, as ir-measures counts them."""
    return {document for document, label in labels.items() if label > 0}


def _descending(question: str, documents: Sequence[str]) -> dict[str, float]:
    """Scores that say nothing but the order: whole numbers, so that single precision, which is
    what trec_eval sorts by, cannot make two of them equal.
    """
    scores = {document: float(-place) for place, document in enumerate(documents)}
    if len(scores) < len(documents):
        raise ValueError(f"the ranking of question {question!r} names a document twice")
    return scores
