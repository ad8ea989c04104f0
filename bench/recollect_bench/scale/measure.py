"""Measure recall for some owners of a store, when idle and while other work is running.

Each query runs three times and its median counts, as in `bench speed`. Besides recall, the product
does three things: it stores memories, saves vectors that a model has computed, and syncs.
`measure_busy` does all of them at once, on one event loop like a server.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from statistics import mean, median
from time import perf_counter
from typing import Any, Final
from uuid import UUID, uuid4

from psycopg import AsyncConnection

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.adapters.walkers.pagerank import PageRank
from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import EVERYWHERE, Draft
from recollect.core.recall.request import RecallRequest
from recollect.core.recall.settings import WordQuery
from recollect.core.recall.space import StoredSpace
from recollect.core.sync.model import Outgoing
from recollect.ports.recall import VectorQuery
from recollect.usecases.context import Context
from recollect.usecases.service import LocalService
from recollect.usecases.sync.server import pull, push
from recollect.usecases.tasks import measure_ms
from recollect_bench.scale.clusters import Clusters
from recollect_bench.scale.fill import Progress
from recollect_bench.scale.population import Owner, Population, list_mentions
from recollect_bench.speed.corpus import Corpus
from recollect_bench.speed.recall import ROUNDS, TOP, timing
from recollect_bench.speed.rig import DEPTH

WORDS, VECTORS, RECALL, WITH_GRAPH = "words", "vectors", "recall", "recall with graph"
RARE, COMMON, MIXED, MEANING, NAMES = "rare words", "common words", "mixed", "meaning", "names"
_CORPUS_KINDS: Final = {RARE: "2 words", COMMON: "common words", MIXED: "7 words"}
# Questions are about the first memories, so that they are the same at every size.
_ASKED_ABOUT: Final = 1_000
# An exact search of a million memories takes seconds.
_MAX_COMPARED: Final = 20
_WORDS: Final = 5
_POLL_SECONDS: Final = 1.0
_JOBS: Final = 32
_PULLED: Final = 200
_PUSHED: Final = 10
# The number of the first memory that no store is filled with.
_FIRST_SPARE: Final = 50_000_000
WRITTEN: Final = "written by the benchmark"
_ERASE: Final = "delete from memories where project = %s"


@dataclass(frozen=True, slots=True)
class Timing:
    """Durations in milliseconds. `whose` names the owners, `count` is the number of calls."""

    whose: str
    part: str
    query: str
    p50_ms: float
    p95_ms: float
    count: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """The share of an exact search's result that was found."""

    whose: str
    part: str
    query: str
    agreement: float


@dataclass(frozen=True, slots=True)
class View:
    """The owners whose memories are searched, in turn."""

    whose: str
    owners: tuple[Owner, ...]


@dataclass(frozen=True, slots=True)
class Question:
    owner: str
    text: str


@dataclass(frozen=True, slots=True)
class Rig:
    """A filled store. `connection` is the superuser's. `context` has no graph leg, `with_graph`
    has one. `missing` counts recalls in which a leg was late, failed or absent.
    """

    store: PostgresStore
    connection: AsyncConnection[Any]
    vectors: PostgresVectors
    space: StoredSpace
    clusters: Clusters
    context: Context
    with_graph: Context
    walker: PageRank
    population: Population
    missing: Counter[str] = field(default_factory=Counter)

    async def search_words(self, question: Question, *, exactly: bool = False) -> list[UUID]:
        depth = TOP if exactly else DEPTH
        query = WordQuery(question.text, depth=depth, is_exhaustive=exactly)
        return [hit.id for hit in await self.store.search_words(question.owner, EVERYWHERE, query)]

    async def search_vectors(self, question: Question, *, exactly: bool = False) -> list[UUID]:
        vector = await self.clusters.embed_query(question.text)
        survey = await self.vectors.survey(question.owner, EVERYWHERE)
        use_index = survey.use_index and not exactly
        query = VectorQuery(self.space, vector, use_index, DEPTH, has_passages=survey.has_passages)
        found = await self.vectors.nearest(question.owner, EVERYWHERE, query)
        return [hit.id for hit in found]

    async def recall(self, question: Question, *, context: Context) -> None:
        request = RecallRequest(question.text, limit=TOP)
        answer = await LocalService(context, question.owner).recall(request)
        for leg in (*context.legs, *context.second_phase):
            # Skipped: the query names no concept that distinguishes memories.
            if (status := answer.legs[leg].status) not in ("ran", "skipped"):
                self.missing[f"{leg} {status}"] += 1

    async def erase_written(self) -> None:
        """Erase what was stored while measuring, also by a run that was killed."""
        await self.connection.execute(_ERASE, (WRITTEN,))


async def measure_view(
    rig: Rig, view: View, queries: int, progress: Progress
) -> tuple[list[Timing], list[Agreement]]:
    """Measure each leg alone, then whole recalls."""
    asked = {kind: ask(rig.population, view, kind, queries) for kind in (*_CORPUS_KINDS, NAMES)}
    asked[MEANING] = asked[MIXED]
    for owner in view.owners:
        await rig.walker.ready(owner.name)
    plain, graph = (
        partial(rig.recall, context=rig.context),
        partial(rig.recall, context=rig.with_graph),
    )
    calls: list[tuple[str, str, Callable[[Question], Awaitable[object]]]] = [
        *((WORDS, kind, rig.search_words) for kind in _CORPUS_KINDS),
        (VECTORS, MEANING, rig.search_vectors),
        *((RECALL, kind, plain) for kind in (*_CORPUS_KINDS, NAMES)),
        (WITH_GRAPH, NAMES, graph),
    ]
    timings: list[Timing] = []
    for part, kind, call in calls:
        took: list[float] = []
        for number, question in enumerate(asked[kind], start=1):
            took.append(median([await _time(call, question) for _ in range(ROUNDS)]))
            progress(f"{view.whose}: {part}, {kind}", number, len(asked[kind]))
        timings.append(_timing(view.whose, part, kind, took))
    return timings, await _agreements(rig, view, asked, progress)


async def _agreements(
    rig: Rig, view: View, asked: dict[str, list[Question]], progress: Progress
) -> list[Agreement]:
    """Compare with exact search: the first ten by words, the recall's whole depth by vectors."""
    compared = [
        *((WORDS, kind, rig.search_words) for kind in _CORPUS_KINDS),
        (VECTORS, MEANING, rig.search_vectors),
    ]
    found: list[Agreement] = []
    for part, kind, search in compared:
        questions = asked[kind][:_MAX_COMPARED]
        shares: list[float] = []
        for number, question in enumerate(questions, start=1):
            exact = await search(question, exactly=True)
            approximate = (await search(question))[: len(exact)]
            shares.append(len(set(exact) & set(approximate)) / len(exact) if exact else 1.0)
            progress(f"{view.whose}: {part}, {kind}, exact search", number, len(questions))
        found.append(Agreement(view.whose, part, kind, round(mean(shares), 4)))
    return found


async def measure_busy(rig: Rig, view: View, queries: int, progress: Progress) -> list[Timing]:
    """Time recalls while other tasks store, save vectors and sync. Each task runs at least once,
    and until all recalls are done.
    """
    took: dict[str, list[float]] = {name: [] for name in (WITH_GRAPH, *_OTHER_WORK)}
    done = asyncio.Event()
    questions = ask(rig.population, view, NAMES, queries)
    spare = count(_FIRST_SPARE)
    call = partial(rig.recall, context=rig.with_graph)

    async def recall() -> None:
        for number, question in enumerate(questions, start=1):
            took[WITH_GRAPH].append(await _time(call, question))
            progress(f"{view.whose}: recall while storing and syncing", number, len(questions))
        done.set()

    async def repeat(name: str) -> None:
        work, random = _OTHER_WORK[name], Random(name)
        while not (done.is_set() and took[name]):
            owner = random.choice(view.owners)
            started = perf_counter()
            if await work(rig, owner, spare):
                took[name].append(measure_ms(started))

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(recall())
            for name in _OTHER_WORK:
                tasks.create_task(repeat(name))
    finally:
        await rig.erase_written()
    return [
        _timing(view.whose, name, NAMES if name == WITH_GRAPH else "", times)
        for name, times in took.items()
    ]


async def _store(rig: Rig, owner: Owner, spare: count[int]) -> bool:
    content = _spare_text(rig, owner, spare)
    draft = Draft(content, project=WRITTEN)
    await LocalService(rig.context, owner.name).remember(draft)
    return True


async def _embed(rig: Rig, _owner: Owner, _spare: count[int]) -> bool:
    """Do a worker's job without a real model; return False if there was nothing to do."""
    jobs = await rig.vectors.claim(rig.space, _JOBS)
    if not jobs:
        await rig.vectors.wait_for_work(_POLL_SECONDS)
        return False
    vectors = await rig.clusters.embed_documents([job.text for job in jobs])
    await rig.vectors.finish(rig.space, list(zip(jobs, vectors, strict=True)))
    return True


async def _pull(rig: Rig, owner: Owner, _spare: count[int]) -> bool:
    await pull(
        rig.context, rig.store.changes, owner.name, uuid4(), 0, _PULLED, sensitive=True, count=False
    )
    return True


async def _push(rig: Rig, owner: Owner, spare: count[int]) -> bool:
    now = rig.context.clock.now()
    items = [
        Outgoing(
            uuid7(now, os.urandom(10)),
            uuid4(),
            based_on=0,
            version=1,
            fields={"content": _spare_text(rig, owner, spare), "project": WRITTEN},
            created_at=now,
            updated_at=now,
        )
        for _ in range(_PUSHED)
    ]
    await push(rig.context, rig.store.changes, owner.name, uuid4(), items, [], sensitive=True)
    return True


Work = Callable[[Rig, Owner, "count[int]"], Awaitable[bool]]
_OTHER_WORK: Final[dict[str, Work]] = {
    "store": _store,
    f"keep vectors of {_JOBS}": _embed,
    f"sync: pull {_PULLED}": _pull,
    f"sync: push {_PUSHED}": _push,
}


def ask(population: Population, view: View, kind: str, queries: int) -> list[Question]:
    """Return questions of one kind, spread evenly over the owners of the view, in turn."""
    each = -(-queries // len(view.owners))
    texts = [(owner, _texts(population, owner, kind, each)) for owner in view.owners]
    asked = [
        Question(owner.name, of_owner[turn]) for turn in range(each) for owner, of_owner in texts
    ]
    return asked[:queries]


def _texts(population: Population, owner: Owner, kind: str, number: int) -> list[str]:
    corpus, among = population.corpus(owner), min(owner.rows, _ASKED_ABOUT)
    if kind != NAMES:
        return corpus.queries(_CORPUS_KINDS[kind], number, among)
    random = Random(f"{corpus.seed} {kind}")
    return [
        _write_question(population, corpus, random.randrange(among), random) for _ in range(number)
    ]


def _write_question(population: Population, corpus: Corpus, memory: int, random: Random) -> str:
    """Write a question from words of a memory and the names of concepts that it mentions."""
    words = next(corpus.memories(memory, memory + 1)).content.split()
    names = [population.concept(corpus, n).name for n in sorted(list_mentions(corpus, memory))]
    return " and ".join([" ".join(random.sample(words, _WORDS)), *names])


def _spare_text(rig: Rig, owner: Owner, spare: count[int]) -> str:
    number = next(spare)
    return next(rig.population.corpus(owner).memories(number, number + 1)).content


async def _time(call: Callable[[Question], Awaitable[object]], question: Question) -> float:
    started = perf_counter()
    await call(question)
    return measure_ms(started)


def _timing(whose: str, part: str, query: str, took: Sequence[float]) -> Timing:
    found = timing(0, part, query, took)
    return Timing(whose, part, query, found.p50_ms, found.p95_ms, len(took))
