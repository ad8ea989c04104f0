"""Small hand-made sets and runs whose figures can be worked out by reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect_bench.data.datasets import Document, EvaluationSet, Question
from recollect_bench.runs.configs import Config
from recollect_bench.runs.run import Answer, Run


def evaluation_set(name: str, strata: Sequence[str]) -> EvaluationSet:
    """Build a set with a question per stratum: `d0` answers `q0`, `d1` answers `q1`, and so on."""
    numbers = range(len(strata))
    return EvaluationSet(
        name=name,
        documents=tuple(
            Document(f"d{number}", f"fact number {number} of {name}") for number in numbers
        ),
        questions=tuple(
            Question(f"q{number}", f"what is fact {number}?", strata[number]) for number in numbers
        ),
        gold={f"q{number}": {f"d{number}": 1} for number in numbers},
        digest="0" * 64,
    )


def run(
    data: EvaluationSet, config: str, found: Mapping[str, Sequence[str]], *took_ms: float
) -> Run:
    """Build a run that found these documents; the lexical leg found the same."""
    answers = {
        question.id: Answer(ids := tuple(found.get(question.id, ())), {"lexical": ids})
        for question in data.questions
    }
    return Run(data.name, Config(config), answers, took_ms)


def right(data: EvaluationSet, count: int) -> dict[str, list[str]]:
    """Return the right answers to the first `count` questions, and none to the others."""
    return {question.id: [f"d{question.id[1:]}"] for question in data.questions[:count]}
