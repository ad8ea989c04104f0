"""Small stores drawn from a set: the gold of some questions, filled up with other texts of the set.

A public set has thousands of texts, while a person's memory starts with thirty. Drawn stores show
how every figure changes with the size of the store. Each is a set of its own, stored and measured
like any other, so word rarity depends only on its own texts.

Texts come from what a question may search: if a set has scopes, a store is within one of them, and
a scope that is smaller than the size gives no store. At most half of a store is gold.
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
"""Maximum per store, so that a size is not measured on a single draw."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The stores of one size. `data` is the set as reported: the questions of the stores with all
    documents, so that strata by rule are those of the whole set.
    """

    data: EvaluationSet
    stores: tuple[EvaluationSet, ...]

    def join(self, runs: Sequence[Run]) -> list[Run]:
        """Join the runs of all stores into one run for each configuration."""
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
    """Parse the sizes in a comma-separated list, smallest first."""
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
    """Draw up to `count` stores of each set and size, except sizes that a set is too small for."""
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
    """Draw up to `count` stores of one size; return None if the set is too small. The same seed
    draws the same stores.
    """
    pools = _documents_by_scope(data, size)
    chance = random.Random(f"{seed} {data.name} {size}")
    questions = [question for question in data.questions if question.scope in pools]
    chance.shuffle(questions)
    name = f"{data.name}@{size}"
    stores = [
        _draw_store(data, f"{name} #{number}", asked, pools[asked[0].scope], size, chance)
        for number, asked in enumerate(_group_questions(data, questions, size), start=1)
        if number <= count
    ]
    if not stores:
        return None
    return Drawn(
        _with_questions(data, name, [each for store in stores for each in store.questions]),
        tuple(stores),
    )


def _documents_by_scope(data: EvaluationSet, size: int) -> Mapping[str | None, Sequence[Document]]:
    """Return the documents that a question may search, by its scope."""
    pools = defaultdict[str | None, list[Document]](list)
    for document in data.documents:
        pools[None].append(document)
        if document.scope is not None:
            pools[document.scope].append(document)
    return {scope: pool for scope, pool in pools.items() if len(pool) >= size}


def _group_questions(
    data: EvaluationSet, questions: Sequence[Question], size: int
) -> Iterator[list[Question]]:
    """Group questions of one scope whose gold fits into half a store. A question with more gold
    gets a store of its own, if it fits at all.
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


def _draw_store(
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
    asked = _with_questions(data, name, questions)
    return replace(asked, documents=documents, unanswerable=unanswerable)


def _with_questions(data: EvaluationSet, name: str, questions: Sequence[Question]) -> EvaluationSet:
    gold = {question.id: data.gold[question.id] for question in questions}
    return replace(data, name=name, questions=tuple(questions), gold=gold, facts=())
