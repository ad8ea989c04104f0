"""Generated importance for sets that have none, to measure the effect of the prior.

`signal` is usually higher for what some question asks for, as if a person had marked what matters;
`noise` is random and means nothing.
"""

from __future__ import annotations

from random import Random
from typing import Final

from recollect.core.memory.memory import DEFAULT_IMPORTANCE
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.runs.configs import Importance

# With `signal`, gold is drawn from the upper part of the range and the rest from the whole range,
# so that a third of the other memories is as important as the average gold one.
_GOLD_FROM: Final = 0.4


def importance_of(data: EvaluationSet, kind: Importance) -> dict[str, float]:
    """Return the importance of each document; the same in every run."""
    if kind == "equal":
        return dict.fromkeys((document.id for document in data.documents), DEFAULT_IMPORTANCE)
    gold = {id for labels in data.gold.values() for id in labels} if kind == "signal" else set()
    drawn: dict[str, float] = {}
    for document in data.documents:
        random = Random(f"{data.name} {document.id}")
        drawn[document.id] = random.uniform(_GOLD_FROM if document.id in gold else 0.0, 1.0)
    return drawn
