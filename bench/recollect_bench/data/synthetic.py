"""An evaluation set of the package's own, so that the benchmark runs out of the box.

It is small, made from a seed, and its answers are known by construction: what each stratum asks is
easy for one leg and hard for the other.

    exact        a code or a setting, among many memories that differ in little else: the words
                 decide, for the meaning is nearly the same
    paraphrase   a question that shares no telling word with its memory: only meaning leads there
    multi-hop    two memories, linked by a project that the question does not name

Some questions are asked in a scope where the same is remembered of other projects elsewhere. The
set proves that the instrument tells such legs apart; of anybody's real memories it says nothing.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import permutations, product
from random import Random
from typing import Any, Final, TypeVar

from recollect.resources import read_text
from recollect_bench.data.convert import Asked, Converted, contents
from recollect_bench.data.datasets import Document, EvaluationSet, Question

NAME: Final = "synthetic"
_INCIDENTS: Final = 48
_INCIDENTS_ASKED: Final = 22
_SETTINGS_ASKED: Final = 10
_INCIDENT_QUESTIONS: Final = (
    "{code}",
    "Why did a service fail with {code}?",
    "What helped when the service failed with {code}?",
    "service failed: {code}",
)

T = TypeVar("T")
_Part = tuple[list[Document], list[Asked]]


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(read_text("recollect_bench.data", "synthetic.toml"))


def synthetic_set(seed: int = 1) -> EvaluationSet:
    """The set of a seed, the same on every machine."""
    made = synthetic(seed)
    return EvaluationSet(
        name=NAME,
        documents=made.documents,
        questions=tuple(labelled.question for labelled in made.asked),
        gold={labelled.question.id: dict.fromkeys(labelled.gold, 1) for labelled in made.asked},
        digest=hashlib.sha256("".join(contents(made).values()).encode()).hexdigest(),
    )


def synthetic(seed: int) -> Converted:
    """The set as `write_set` takes it. Memories come in no order that would help anybody."""
    random = Random(seed)
    parts: tuple[Callable[[Random], _Part], ...]
    parts = (_incidents, _settings, _projects, _pairs, _scoped, _others)
    made = [part(random) for part in parts]
    documents = _shuffled([document for documents, _ in made for document in documents], random)
    asked = tuple(question for _, questions in made for question in questions)
    return Converted(tuple(documents), asked, left_out=0)


def _incidents(random: Random) -> _Part:
    """Much alike but for a code, which stands in one memory only and looks like all others."""
    texts = _texts()
    kinds = _shuffled(product(texts["services"], texts["causes"]), random)[:_INCIDENTS]
    codes = _shuffled(("".join(digits) for digits in permutations("12479")), random)
    documents, asked = [], []
    for number, (service, cause) in enumerate(kinds):
        code = f"RT{codes[number]}"
        remedy = _one_of(texts["remedies"], random)
        scope = texts["scoped_projects"][number % len(texts["scoped_projects"])]
        id = f"incident-{number}"
        text = f"The {service} service failed with {code}: {cause}; {remedy}."
        documents.append(Document(id, text, scope=scope))
        if number < _INCIDENTS_ASKED:
            form = _INCIDENT_QUESTIONS[number % len(_INCIDENT_QUESTIONS)]
            question = form.format(code=code)
            # Half of them are asked without saying where.
            inside = scope if number % 2 else None
            asked.append(_asked(f"exact-{id}", "exact", question, id, scope=inside))
    return documents, asked


def _settings(random: Random) -> _Part:
    texts = _texts()
    documents, asked = [], []
    names = product(texts["settings"], texts["measures"])
    projects = _shuffled(texts["projects"], random)
    for number, (setting, measure) in enumerate(_shuffled(names, random)):
        name = f"{projects[number % len(projects)].upper()}_{setting}_{measure}"
        value = 5 * (1 + int(100 * random.random()))
        scope = texts["scoped_projects"][number % len(texts["scoped_projects"])]
        id = f"setting-{number}"
        documents.append(Document(id, f"{name} is set to {value} in production.", scope=scope))
        if number < _SETTINGS_ASKED:
            asked.append(_asked(f"exact-{id}", "exact", f"value of {name}", id))
    return documents, asked


def _projects(random: Random) -> _Part:
    """Who leads what, and what is known of it: the project's name is the link."""
    texts = _texts()
    documents, asked = [], []
    databases, cities = texts["databases"], texts["cities"]
    people = _shuffled(texts["people"], random)
    for number, (person, project) in enumerate(zip(people, texts["projects"], strict=True)):
        leads, stores, runs = (f"{what}-{number}" for what in ("lead", "store", "host"))
        documents += [
            Document(leads, f"{person} leads {project}."),
            Document(stores, f"{project} keeps its data in {_one_of(databases, random)}."),
            Document(runs, f"{project} is hosted in {_one_of(cities, random)}."),
        ]
        question, second = (
            (f"In which city is the project hosted that {person} leads?", runs)
            if number % 2
            else (f"What does the project that {person} leads keep its data in?", stores)
        )
        asked.append(_asked(f"multi-hop-{number}", "multi-hop", question, leads, second))
    return documents, asked


def _pairs(_random: Random) -> _Part:
    documents, asked = [], []
    for number, (memory, question) in enumerate(_texts()["pairs"]):
        id = f"pair-{number}"
        documents.append(Document(id, memory))
        asked.append(_asked(f"paraphrase-{id}", "paraphrase", question, id))
    return documents, asked


def _scoped(random: Random) -> _Part:
    """The same facts in every project, each its own way; asked in one project at a time."""
    texts = _texts()
    documents, asked = [], []
    for number, fact in enumerate(texts["scoped_facts"]):
        ids = {project: f"{project}-{number}" for project in texts["scoped_projects"]}
        documents += [
            Document(ids[project], fact["memory"].format(own), scope=project)
            for project, own in zip(ids, fact["own_words"], strict=True)
        ]
        first, second, *_ = _shuffled(ids, random)
        for stratum, project in (("exact", first), ("paraphrase", second)):
            id = f"{stratum}-{ids[project]}"
            asked.append(_asked(id, stratum, fact[stratum], ids[project], scope=project))
    return documents, asked


def _others(_random: Random) -> _Part:
    return [Document(f"other-{number}", text) for number, text in enumerate(_texts()["others"])], []


def _asked(id: str, stratum: str, text: str, *gold: str, scope: str | None = None) -> Asked:
    return Asked(Question(id, text, stratum, scope), answer=None, gold=gold)


# Of what a seeded `Random` gives, only `random()` is promised to stay the same in every Python.
def _shuffled(items: Iterable[T], random: Random) -> list[T]:
    return sorted(items, key=lambda _: random.random())


def _one_of(items: Sequence[T], random: Random) -> T:
    return items[int(random.random() * len(items))]
