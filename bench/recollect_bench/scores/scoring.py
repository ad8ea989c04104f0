"""Score runs question by question, by every metric, and group questions into strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect_bench.data.datasets import NO_STRATUM, EvaluationSet
from recollect_bench.data.strata import RULE_STRATA, rule_strata
from recollect_bench.runs.run import Run
from recollect_bench.scores.metrics import score
from recollect_bench.scores.report import OVERALL, RULE
from recollect_bench.scores.significance import Numbers

Values = Mapping[str, Mapping[str, float]]
"""Metric to question id to value."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A set, its strata, and the values of each configuration's run, question by question."""

    data: EvaluationSet
    strata: Mapping[str, Sequence[str]]
    runs: Mapping[str, Run]
    values: Mapping[str, Values]

    def columns(self, stratum: str, names: Sequence[str], metrics: Sequence[str]) -> Numbers:
        """Return a row for each question, and for each configuration a column for each metric."""
        return np.array(
            [
                [self.values[name][metric][id] for name in names for metric in metrics]
                for id in self.strata[stratum]
            ]
        )


def score_runs(sets: Sequence[EvaluationSet], runs: Sequence[Run]) -> list[Scored]:
    """Score the sets that were run, each with its runs by the configuration's name."""
    found: list[Scored] = []
    for data in sets:
        here = {run.config.name: run for run in runs if run.set_name == data.name}
        values = {name: score(data.gold, run.ranking) for name, run in here.items()}
        if here:
            found.append(Scored(data, strata_of(data), here, values))
    return found


def strata_of(data: EvaluationSet) -> dict[str, list[str]]:
    """Map strata to question ids: all questions, the set's own strata, and the strata by rule."""
    strata = {OVERALL: [question.id for question in data.questions]}
    for question in sorted(data.questions, key=lambda question: question.stratum):
        if question.stratum != NO_STRATUM:
            strata.setdefault(_own(question.stratum), []).append(question.id)
    by_rule = rule_strata(data)
    for rule in RULE_STRATA:
        if ids := [id for id in strata[OVERALL] if by_rule[id] == rule]:
            strata[f"{RULE}{rule}"] = ids
    return strata


def _own(stratum: str) -> str:
    taken = stratum == OVERALL or stratum.startswith(RULE)
    return f"own:{stratum}" if taken else stratum
