"""BM25 from a third-party library, to compare our lexical leg with something we did not write.

It is not a recall: it reads the evaluation set from memory and answers in the same form as a run of
the product. Its parameters are the usual ones and are not tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from recollect.core.recall.settings import RecallSettings
from recollect.usecases.tasks import measure_ms
from recollect_bench.data.datasets import EvaluationSet, Question
from recollect_bench.extra import bench_extra
from recollect_bench.runs.configs import Config
from recollect_bench.runs.run import LIMIT, Answer, Run
from recollect_bench.runs.stage import Progress

K1: Final = 1.5
B: Final = 0.75

Stemmer = Callable[[list[str]], list[str]]


def run_yardstick(
    data: EvaluationSet, config: Config, progress: Progress, *, timed: int = 0
) -> Run:
    """Answer the set's questions by BM25 with English stop words, each within its scope."""
    index = _Index(data)
    depth = RecallSettings().changed(config.settings).depth
    answers: dict[str, Answer] = {}
    took_ms: list[float] = []
    for number, question in enumerate(data.questions, start=1):
        started = perf_counter()
        found = index.search(question, max(LIMIT, depth))
        took_ms.append(measure_ms(started))
        answers[question.id] = Answer(found[:LIMIT], {"lexical": found})
        progress(f"{data.name}: {config.name}", number, len(data.questions))
    return Run(data.name, config, answers, tuple(took_ms[:timed]))


def stemmer() -> Stemmer | None:
    """Return the English stemmer, or None if PyStemmer is not installed: words are not stemmed."""
    try:
        from Stemmer import Stemmer as Snowball  # type: ignore[import-not-found, unused-ignore]  # it may be missing
    except ImportError:
        return None
    stemmed: Stemmer = Snowball("english").stemWords
    return stemmed


class _Index:
    """All documents of a set, and their scopes."""

    def __init__(self, data: EvaluationSet) -> None:
        with bench_extra():
            import bm25s

        self._ids = [document.id for document in data.documents]
        self._scopes = np.array([document.scope or "" for document in data.documents])
        self._tokens: Callable[[Sequence[str]], Any] = lambda texts: bm25s.tokenize(
            list(texts),
            stopwords="english",
            stemmer=stemmer(),
            return_ids=False,
            show_progress=False,
        )
        self._ranker = bm25s.BM25(k1=K1, b=B)
        words = self._tokens([document.content for document in data.documents])
        self._ranker.index(words, show_progress=False)

    def search(self, question: Question, depth: int) -> tuple[str, ...]:
        known = [
            word for word in self._tokens([question.text])[0] if word in self._ranker.vocab_dict
        ]
        if not known:
            return ()
        scores: npt.NDArray[np.float32] = self._ranker.get_scores(known)
        if question.scope is not None:
            scores = np.where(self._scopes == question.scope, scores, 0)
        best = np.argsort(-scores, kind="stable")[:depth]
        return tuple(self._ids[place] for place in best if scores[place] > 0)
