"""What a confidence is worth: of the hits that are shown with 40 to 50%, so many should answer.

Counted are the first ten hits of the sets' own questions and of prompts that nothing answers, each
half of them by itself: the constants were fitted to one (docs/adr/0065).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Final

from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.request import RecallRequest
from recollect.usecases.service import LocalService
from recollect_bench.data.datasets import Question
from recollect_bench.runs.stage import OWNER, Progress, Stage

_BANDS: Final = (0, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 101)


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt: the confidence of each hit, and whether it answers."""

    kind: str
    half: int
    hits: tuple[tuple[float, bool], ...]
    is_weak: bool


@dataclass(frozen=True, slots=True)
class Band:
    """Hits of about the same confidence: what is `shown` on average, and how many are `right`."""

    title: str
    hits: int
    shown: float
    right: float


@dataclass(frozen=True, slots=True)
class WeakRow:
    """Prompts of one kind: the share that is called `weak`, and the confidence of `first` hits."""

    kind: str
    prompts: int
    weak: float
    first: float


async def ask(
    stage: Stage, prompts: Sequence[tuple[str, Question]], progress: Progress
) -> list[Asked]:
    recollect = LocalService(stage.context, OWNER)
    asked: list[Asked] = []
    for number, (kind, question) in enumerate(prompts, start=1):
        scope = EVERYWHERE if question.scope is None else Scope(project=question.scope)
        found = await recollect.recall(RecallRequest(question.text, scope=scope))
        gold = stage.data.gold.get(question.id, {}) if kind == "answerable" else {}
        hits = tuple(
            (
                hit.confidence,
                any(stage.documents[id] in gold for id in (hit.memory.id, *hit.duplicates)),
            )
            for hit in found.hits
        )
        half = hashlib.sha1(question.id.encode(), usedforsecurity=False).digest()[0] % 2
        asked.append(Asked(kind, half, hits, found.is_weak or not hits))
        progress(f"{stage.data.name}: asking", number, len(prompts))
    return asked


def count_bands(asked: Sequence[Asked]) -> Iterator[Band]:
    """Everyday prompts have no labels: some get what is to the point."""
    hits = [hit for prompt in asked if prompt.kind != "everyday" for hit in prompt.hits]
    for least, most in pairwise(_BANDS):
        some = [hit for hit in hits if least <= round(100 * hit[0]) < most]
        if some:
            shown, right = (100 * fmean(column) for column in zip(*some, strict=True))
            yield Band(f"{least} to {min(most, 100)}%", len(some), shown, right)


def count_weak(asked: Sequence[Asked]) -> Iterator[WeakRow]:
    for kind in dict.fromkeys(prompt.kind for prompt in asked):
        some = [prompt for prompt in asked if prompt.kind == kind]
        weak = 100 * fmean(prompt.is_weak for prompt in some)
        first = 100 * fmean(prompt.hits[0][0] if prompt.hits else 0.0 for prompt in some)
        yield WeakRow(kind, len(some), weak, first)
