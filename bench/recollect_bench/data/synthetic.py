"""A built-in evaluation set, so that the benchmark runs out of the box.

It is small, generated from a seed, and its answers are known by construction: each stratum is easy
for one leg and hard for the other.

    exact        a code or a setting, among many memories that differ in little else: words decide,
                 since the meaning is nearly the same
    paraphrase   a question that shares no distinctive word with its memory: only meaning finds it
    multi-hop    two memories, linked by a project that the question does not name

Some questions are asked in a scope, with the same facts about other projects outside it. The set
proves that the benchmark can distinguish such legs; it says nothing about real memories.
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
    """Return the set of a seed, the same on every machine."""
    source = synthetic(seed)
    return EvaluationSet(
        name=NAME,
        documents=source.documents,
        questions=tuple(labelled.question for labelled in source.asked),
        gold={labelled.question.id: dict.fromkeys(labelled.gold, 1) for labelled in source.asked},
        digest=hashlib.sha256("".join(contents(source).values()).encode()).hexdigest(),
    )


def synthetic(seed: int) -> Converted:
    """Generate the set in the form that `write_set` takes. The memories are shuffled, so that their
    order gives nothing away.
    """
    random = Random(seed)
    parts: tuple[Callable[[Random], _Part], ...]
    parts = (_incidents, _settings, _projects, _pairs, _scoped, _others)
    generated = [part(random) for part in parts]
    documents = _shuffle([document for documents, _ in generated for document in documents], random)
    asked = tuple(question for _, questions in generated for question in questions)
    return Converted(tuple(documents), asked, left_out=0)


def _incidents(random: Random) -> _Part:
    """Generate memories that differ in a code, which occurs only once and looks like the others."""
    texts = _texts()
    kinds = _shuffle(product(texts["services"], texts["causes"]), random)[:_INCIDENTS]
    codes = _shuffle(("".join(digits) for digits in permutations("12479")), random)
    documents, asked = [], []
    for number, (service, cause) in enumerate(kinds):
        code = f"RT{codes[number]}"
        remedy = _choose(texts["remedies"], random)
        scope = texts["scoped_projects"][number % len(texts["scoped_projects"])]
        id = f"incident-{number}"
        text = f"The {service} service failed with {code}: {cause}; {remedy}."
        documents.append(Document(id, text, scope=scope))
        if number < _INCIDENTS_ASKED:
            form = _INCIDENT_QUESTIONS[number % len(_INCIDENT_QUESTIONS)]
            question = form.format(code=code)
            # Half of the questions have no scope.
            inside = scope if number % 2 else None
            asked.append(_to_asked(f"exact-{id}", "exact", question, id, scope=inside))
    return documents, asked


def _settings(random: Random) -> _Part:
    texts = _texts()
    documents, asked = [], []
    names = product(texts["settings"], texts["measures"])
    projects = _shuffle(texts["projects"], random)
    for number, (setting, measure) in enumerate(_shuffle(names, random)):
        name = f"{projects[number % len(projects)].upper()}_{setting}_{measure}"
        value = 5 * (1 + int(100 * random.random()))
        scope = texts["scoped_projects"][number % len(texts["scoped_projects"])]
        id = f"setting-{number}"
        documents.append(Document(id, f"{name} is set to {value} in production.", scope=scope))
        if number < _SETTINGS_ASKED:
            asked.append(_to_asked(f"exact-{id}", "exact", f"value of {name}", id))
    return documents, asked


def _projects(random: Random) -> _Part:
    """Generate who leads which project and facts about it: the project's name is the link."""
    texts = _texts()
    documents, asked = [], []
    databases, cities = texts["databases"], texts["cities"]
    people = _shuffle(texts["people"], random)
    for number, (person, project) in enumerate(zip(people, texts["projects"], strict=True)):
        leads, stores, runs = (f"{what}-{number}" for what in ("lead", "store", "host"))
        documents += [
            Document(leads, f"{person} leads {project}."),
            Document(stores, f"{project} keeps its data in {_choose(databases, random)}."),
            Document(runs, f"{project} is hosted in {_choose(cities, random)}."),
        ]
        question, second = (
            (f"In which city is the project hosted that {person} leads?", runs)
            if number % 2
            else (f"What does the project that {person} leads keep its data in?", stores)
        )
        asked.append(_to_asked(f"multi-hop-{number}", "multi-hop", question, leads, second))
    return documents, asked


def _pairs(_random: Random) -> _Part:
    documents, asked = [], []
    for number, (memory, question) in enumerate(_texts()["pairs"]):
        id = f"pair-{number}"
        documents.append(Document(id, memory))
        asked.append(_to_asked(f"paraphrase-{id}", "paraphrase", question, id))
    return documents, asked


def _scoped(random: Random) -> _Part:
    """Generate the same facts for every project, with different values; each question is asked in
    one project.
    """
    texts = _texts()
    documents, asked = [], []
    for number, fact in enumerate(texts["scoped_facts"]):
        ids = {project: f"{project}-{number}" for project in texts["scoped_projects"]}
        documents += [
            Document(ids[project], fact["memory"].format(own), scope=project)
            for project, own in zip(ids, fact["own_words"], strict=True)
        ]
        first, second, *_ = _shuffle(ids, random)
        for stratum, project in (("exact", first), ("paraphrase", second)):
            id = f"{stratum}-{ids[project]}"
            asked.append(_to_asked(id, stratum, fact[stratum], ids[project], scope=project))
    return documents, asked


def _others(_random: Random) -> _Part:
    return [Document(f"other-{number}", text) for number, text in enumerate(_texts()["others"])], []


def _to_asked(id: str, stratum: str, text: str, *gold: str, scope: str | None = None) -> Asked:
    return Asked(Question(id, text, stratum, scope), answer=None, gold=gold)


# Of a seeded `Random`, only `random()` is guaranteed to return the same in every Python version.
def _shuffle(items: Iterable[T], random: Random) -> list[T]:
    return sorted(items, key=lambda _: random.random())


def _choose(items: Sequence[T], random: Random) -> T:
    return items[int(random.random() * len(items))]
