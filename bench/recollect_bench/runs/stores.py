"""Small stores drawn from a set: the gold of some questions, filled up with other texts of the set.

A public set has thousands of texts, a person's memory starts with thirty. Drawn stores show how
every figure changes with the size of the store. Each is a set of its own, stored and measured like
any other, so how rare a word is depends on the texts that are there.

Texts come from what a question may search: where a set has scopes, a store lies within one of them,
and a scope that is too small for a size gives no store of it. No more than half of a store is gold.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from recollect.core.errors import InvalidInput
from recollect_bench.data.datasets import Document, EvaluationSet, Question
from recollect_bench.runs.run import Run

MAX_QUESTIONS: Final = 40
"""Asked of one store at most, so that a size is not measured on a single draw."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The stores of one size. `data` is the set as it is reported: the questions that are asked,
    with all documents, so that strata by rule are those of the whole set.
    """

    data: EvaluationSet
    stores: tuple[EvaluationSet, ...]

    def join(self, runs: Sequence[Run]) -> list[Run]:
        """The runs of all stores as one run for each configuration."""
        names = {store.name for store in self.stores}
        joined: dict[str, Run] = {}
        for run in runs:
            if run.set_name not in names:
                continue
            before = joined.get(run.config.name, Run(self.data.name, run.config, {}))
            joined[run.config.name] = replace(
                before,
                answers={**before.answers, **run.answers},
                took_ms=(*before.took_ms, *run.took_ms),
            )
        return list(joined.values())


def parse_sizes(text: str) -> list[int]:
    """The sizes in a comma-separated list, smallest first."""
    try:
        sizes = sorted({int(part) for part in text.split(",")})
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < 2:
        raise InvalidInput(
            f"{text[:60]!r} is not a list of store sizes",
            field="--stores-of",
            remedy="Write whole numbers of at least 2, separated by commas: 30,100,300,1000.",
        )
    return sizes


def draw_sizes(
    sets: Sequence[EvaluationSet], sizes: Sequence[int], count: int, seed: int
) -> list[Drawn]:
    """Up to `count` stores of each set and size. A set that is too small for a size is left out."""
    found = [
        drawn
        for data in sets
        for size in sizes
        if (drawn := draw_stores(data, size, count, seed)) is not None
    ]
    if not found:
        raise InvalidInput(
            f"no set has enough texts for a store of {sizes[0]}",
            field="--stores-of",
            remedy="Ask for smaller stores, or name a larger set with --sets.",
        )
    return found


def draw_stores(data: EvaluationSet, size: int, count: int, seed: int) -> Drawn | None:
    """Up to `count` stores of one size, or None if the set is too small. The same seed draws the
    same stores.
    """
    pools = _pools(data, size)
    chance = random.Random(f"{seed} {data.name} {size}")
    questions = [question for question in data.questions if question.scope in pools]
    chance.shuffle(questions)
    name = f"{data.name}@{size}"
    stores = [
        _store(data, f"{name} #{number}", asked, pools[asked[0].scope], size, chance)
        for number, asked in enumerate(_groups(data, questions, size), start=1)
        if number <= count
    ]
    if not stores:
        return None
    return Drawn(
        _asked(data, name, [each for store in stores for each in store.questions]), tuple(stores)
    )


def _pools(data: EvaluationSet, size: int) -> Mapping[str | None, Sequence[Document]]:
    """The documents that a question may search, by its scope."""
    pools = defaultdict[str | None, list[Document]](list)
    for document in data.documents:
        pools[None].append(document)
        if document.scope is not None:
            pools[document.scope].append(document)
    return {scope: pool for scope, pool in pools.items() if len(pool) >= size}


def _groups(
    data: EvaluationSet, questions: Sequence[Question], size: int
) -> Iterator[list[Question]]:
    """Questions of one scope whose gold fits into half a store; a question with more has a store of
    its own, if it fits at all.
    """
    open_groups: dict[str | None, list[Question]] = {}
    held: dict[str | None, set[str]] = {}
    for question in questions:
        gold = set(data.gold[question.id])
        if len(gold) > size:
            continue
        group = open_groups.setdefault(question.scope, [])
        together = held.get(question.scope, set()) | gold
        if group and (len(together) > size // 2 or len(group) == MAX_QUESTIONS):
            yield group
            group = open_groups[question.scope] = []
            together = gold
        group.append(question)
        held[question.scope] = together
    yield from (group for group in open_groups.values() if group)


def _store(
    data: EvaluationSet,
    name: str,
    questions: Sequence[Question],
    pool: Sequence[Document],
    size: int,
    chance: random.Random,
) -> EvaluationSet:
    gold = {id for question in questions for id in data.gold[question.id]}
    others = [document.id for document in pool if document.id not in gold]
    stored = gold | set(chance.sample(others, min(size - len(gold), len(others))))
    # In the set's order: turns of a conversation follow each other.
    documents = tuple(document for document in pool if document.id in stored)
    scope = questions[0].scope
    unanswerable = tuple(each for each in data.unanswerable if each.scope == scope)
    asked = _asked(data, name, questions)
    return replace(asked, documents=documents, unanswerable=unanswerable)


def _asked(data: EvaluationSet, name: str, questions: Sequence[Question]) -> EvaluationSet:
    gold = {question.id: data.gold[question.id] for question in questions}
    return replace(data, name=name, questions=tuple(questions), gold=gold, facts=())
