"""How good one ranking is for each question, by standard metrics.

The values are those of trec_eval, under the names of ir-measures, so that figures are comparable
with those of papers:

    R@1 to R@20   the share of the question's gold documents among the first 1, 3, 5, 10 or 20
    P@1           1 when the first document is gold, else 0
    nDCG@10       like R@10, but documents lower in the list count less; gains are the labels
    RR            1 / the rank of the first gold document; its mean is the MRR
    AllGold@10    1 when every gold document is among the first ten, else 0; our own metric, because
                  multi-hop questions need it

Every question of the gold has a value. A question with no results counts as 0, and is not left out
of the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Final

from recollect_bench.data.datasets import Gold

Labels = Mapping[str, int]
Ranking = Mapping[str, Sequence[str]]
"""Question id to document ids, best first."""

ALL_GOLD: Final = "AllGold@10"
TOP: Final = 10


def recall(labels: Labels, documents: Sequence[str], *, top: int) -> float:
    gold = relevant(labels)
    return len(gold.intersection(documents[:top])) / len(gold) if gold else 0.0


def ndcg(labels: Labels, documents: Sequence[str], *, top: int) -> float:
    """Compute nDCG (Järvelin and Kekäläinen 2002) with the label as gain; negative labels gain
    nothing.
    """
    ideal = _dcg(sorted((labels[document] for document in relevant(labels)), reverse=True)[:top])
    return _dcg([max(0, labels.get(each, 0)) for each in documents[:top]]) / ideal if ideal else 0.0


def first_is_gold(labels: Labels, documents: Sequence[str]) -> float:
    return float(not relevant(labels).isdisjoint(documents[:1]))


def reciprocal_rank(labels: Labels, documents: Sequence[str]) -> float:
    gold = relevant(labels)
    return next((1 / rank for rank, each in enumerate(documents, 1) if each in gold), 0.0)


def all_gold(labels: Labels, documents: Sequence[str], *, top: int) -> float:
    gold = relevant(labels)
    return float(bool(gold) and gold.issubset(documents[:top]))


_MEASURES: Final[Mapping[str, Callable[[Labels, Sequence[str]], float]]] = {
    "R@1": partial(recall, top=1),
    "R@3": partial(recall, top=3),
    "R@5": partial(recall, top=5),
    "R@10": partial(recall, top=10),
    "R@20": partial(recall, top=20),
    "nDCG@10": partial(ndcg, top=10),
    "P@1": first_is_gold,
    "RR": reciprocal_rank,
    ALL_GOLD: partial(all_gold, top=TOP),
}
METRICS: Final = tuple(_MEASURES)


def score(gold: Gold, ranking: Ranking) -> dict[str, dict[str, float]]:
    """Return metric to question id to value, in the order of METRICS and of the gold."""
    for question in gold:
        _refuse_duplicates(question, ranking.get(question, ()))
    return {
        metric: {question: measure(gold[question], ranking.get(question, ())) for question in gold}
        for metric, measure in _MEASURES.items()
    }


def means(values: Mapping[str, float], questions: Iterable[str]) -> float:
    """Return the mean over some of the questions, of which there must be at least one."""
    return fmean(values[question] for question in questions)


def relevant(labels: Labels) -> set[str]:
    """Return the documents that answer the question."""
    return {document for document, label in labels.items() if label > 0}


def _dcg(gains: Iterable[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _refuse_duplicates(question: str, documents: Sequence[str]) -> None:
    if len(set(documents)) < len(documents):
        raise ValueError(f"the ranking of question {question!r} names a document twice")
