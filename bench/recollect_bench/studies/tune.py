"""Choose fusion parameters on one half of the questions, and confirm them on the other.

The best of many settings looks good on the questions it was chosen by, if only by chance. So a
change is recommended only based on questions that were not used to choose it, and only if the 95%
interval of the difference from the current settings is above zero there.

This module only computes with the values of single questions; the runs come from `measure`. Each
set counts once, however many questions it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import numpy as np

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.data.strata import rule_strata
from recollect_bench.runs.configs import Config, Layout
from recollect_bench.scores.scoring import Scored
from recollect_bench.scores.significance import Difference, Numbers, differences

CURRENT: Final = "current"
DEFAULT_SWEEP: Final = (
    "default:fusion=standout:dense_weight=0.5|0.9|1.5|2.5:vote=3|7|15,"
    "convex:dense_weight=0.5|1|2|4,"
    "rrf:rrf_k=2|10|60:dense_weight=0.5|1|2"
)
MIN_QUESTIONS: Final = 20
"""Per set: with fewer than ten questions in a half, an interval is too narrow to be reliable."""

# A benchmark does not decide how long recall may take, or whether there is a second stage.
_NOT_TUNED: Final = frozenset(
    ("deadline_ms", "second_stage", "rerank_depth", "rerank_timeout_ms", "newer_first")
)

Half = Mapping[str, Sequence[str]]
"""Set name to the ids of its questions."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """`chosen` was best on the first half; `held_out` is its difference from the current settings
    on the second, `per_set` the same for each set. `means` are those of each configuration on the
    first half.
    """

    metric: str
    seed: int
    means: Mapping[str, float]
    chosen: str
    held_out: Difference
    per_set: Mapping[str, Difference]

    @property
    def recommended(self) -> bool:
        return self.chosen != CURRENT and self.held_out.low > 0


def build_candidates(configs: Sequence[Config], current: RecallSettings) -> list[Config]:
    """Return the current settings, then the configurations to try, each as a change of them."""
    layouts = {config.layout for config in configs}
    if len(layouts) > 1:
        raise InvalidInput(
            "the configurations differ in more than settings",
            field="--configs",
            remedy="Leave out engine, embedder, embedded and importance, or give all the same: "
            "only settings can be tuned.",
        )
    layout = next(iter(layouts), Layout())
    own = {
        name: value
        for name, value in _diff_settings(RecallSettings(), current).items()
        if name not in _NOT_TUNED
    }
    seen = [RecallSettings().changed(own)]
    found = [Config(CURRENT, layout, own)]
    for config in configs:
        settings = {**own, **config.settings}
        effect = RecallSettings().changed(settings)
        if effect not in seen:
            seen.append(effect)
            found.append(Config(config.name, layout, settings))
    return found


def changes(current: RecallSettings, chosen: Config) -> dict[str, object]:
    """Return the settings to change in order to adopt the chosen configuration."""
    return _diff_settings(current, current.changed(chosen.settings))


def commands(changes: Mapping[str, object]) -> list[str]:
    return [
        f"recollect settings set {name} {_format_value(value)}" for name, value in changes.items()
    ]


def split_halves(sets: Sequence[EvaluationSet], seed: int) -> tuple[Half, Half]:
    """Split the questions into a half to choose by and a half to confirm by. Every stratum is
    split, by a hash of the seed and the question.
    """
    first: dict[str, list[str]] = {}
    second: dict[str, list[str]] = {}
    for data in sets:
        if len(data.questions) < MIN_QUESTIONS:
            raise InvalidInput(
                f"{data.name} has {len(data.questions)} questions, too few to choose by one half "
                "and confirm by the other",
                field="--sets",
                remedy=f"Use sets of at least {MIN_QUESTIONS} questions; your own grows with "
                "`recollect bench own --questions`.",
            )
        ordered = _order_questions(data, seed)
        # One sequence over all strata, so that many strata of one question are split evenly, too.
        first[data.name], second[data.name] = ordered[::2], ordered[1::2]
    return first, second


def tune(found: Sequence[Scored], metric: str, seed: int) -> Tuning:
    """Choose and confirm. Every set must have a run of the current settings and each candidate."""
    choosing, confirming = split_halves([scored.data for scored in found], seed)
    means = {
        name: fmean(
            fmean(scored.values[name][metric][id] for id in choosing[scored.data.name])
            for scored in found
        )
        for name in found[0].runs
    }
    # On a tie, keep the current settings.
    chosen = max(means, key=lambda name: (means[name], name == CURRENT))
    gains = {scored.data.name: _gains(scored, metric, chosen, confirming) for scored in found}
    per_set = {name: differences([gain], seed)[0] for name, gain in gains.items()}
    held_out = differences(list(gains.values()), seed)[0]
    return Tuning(metric, seed, means, chosen, held_out, per_set)


def as_dict(tuning: Tuning, changes: Mapping[str, object]) -> dict[str, Any]:
    """Return the result for scripts. `changes` are empty unless the change is recommended."""
    return {
        "metric": tuning.metric,
        "seed": tuning.seed,
        "tried": [{"config": name, "value": value} for name, value in tuning.means.items()],
        "chosen": tuning.chosen,
        "held_out": _difference_as_dict(tuning.held_out),
        "held_out_by_set": {
            name: _difference_as_dict(difference) for name, difference in tuning.per_set.items()
        },
        "recommended": tuning.recommended,
        "changes": dict(changes),
        "commands": commands(changes),
    }


def _order_questions(data: EvaluationSet, seed: int) -> list[str]:
    """Return the questions' ids ordered by stratum, shuffled within each."""
    by_rule = rule_strata(data)
    keys = {
        question.id: (
            question.stratum,
            by_rule[question.id],
            _hash(f"{seed} {data.name} {question.id}"),
        )
        for question in data.questions
    }
    return sorted(keys, key=keys.__getitem__)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _gains(scored: Scored, metric: str, chosen: str, half: Half) -> Numbers:
    """Return by how much the chosen configuration is better, a row for each question."""
    after, before = scored.values[chosen][metric], scored.values[CURRENT][metric]
    return np.array([[after[id] - before[id]] for id in half[scored.data.name]])


def _difference_as_dict(found: Difference) -> dict[str, Any]:
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "queries": found.count,
    }


def _diff_settings(before: RecallSettings, after: RecallSettings) -> dict[str, object]:
    old = before.as_dict()
    return {name: value for name, value in after.as_dict().items() if value != old[name]}


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
