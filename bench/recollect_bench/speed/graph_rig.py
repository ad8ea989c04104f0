"""The graph leg next to the dense leg, as in a recall, on one store of each size.

The dense leg is timed alone, from a vector to its neighbours; the graph leg as a recall reports it:
finding the concepts that the query names, the walk, and the lookup of what only the walk has found.
Both get the same questions at the same time, so that their ratio is more reliable than either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from statistics import median
from time import perf_counter
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection

from recollect.adapters.postgres.graph.rules import RULES
from recollect.adapters.postgres.session import PostgresSession
from recollect.adapters.walkers.pagerank import PageRank
from recollect.core.errors import StoreError
from recollect.core.graph.model import GraphSnapshot
from recollect.core.graph.walk import MAX_MEMORIES, MIN_MEMORIES
from recollect.core.recall.request import LegName, RecallRequest
from recollect.ports.embedding import Embedders
from recollect.ports.recall import SecondPhaseLeg
from recollect.settings import Settings
from recollect.usecases.recall.dense import dense_leg
from recollect.usecases.recall.graph_leg import GraphLeg
from recollect.usecases.service import LocalService
from recollect.usecases.tasks import measure_ms
from recollect.wiring.context import build_context
from recollect.wiring.postgres import open_postgres
from recollect_bench.speed.copying import NamedConcept, allow_copy, copy_concepts, copy_mentions
from recollect_bench.speed.corpus import OWNER, Corpus
from recollect_bench.speed.graph import make_graph
from recollect_bench.speed.recall import ROUNDS, TOP, timing
from recollect_bench.speed.rig import Dense, Progress, Rig
from recollect_bench.speed.vectors import Subjects

_DEADLINE_MS: Final = 60_000
_WORDS: Final = 5
_CONCEPTS_PER_QUERY: Final = 2
_IDS: Final = "select id from memories order by id"
_EMPTY: Final = "truncate concepts cascade"
_TABLES: Final = ("concepts", "concept_names", "memory_concepts")


@dataclass(frozen=True, slots=True)
class LegTiming:
    """Both legs at one size. `ratio` is that of the p95; `read_ms` is the time to read the graph
    and build the matrix, which no recall waits for.
    """

    memories: int
    concepts: int
    read_ms: float
    graph_p50_ms: float
    graph_p95_ms: float
    dense_p50_ms: float
    dense_p95_ms: float
    embed_p95_ms: float
    ratio: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def time_legs(
    settings: Settings,
    url: str,
    embedders: Embedders,
    corpus: Corpus,
    subjects: Subjects,
    sizes: Sequence[int],
    *,
    queries: int,
    progress: Progress,
) -> list[LegTiming]:
    """Grow one store from size to size; at each, the graph is generated anew. `settings` name the
    model and, like `url`, an empty database.
    """
    async with (
        open_postgres(settings) as (store, _),
        await AsyncConnection.connect(url, autocommit=True) as connection,
        PageRank(store.graph) as pagerank,
    ):
        await allow_copy(connection)
        if store.vectors is None:
            raise StoreError(
                "the dense leg cannot be measured here", remedy=f"{store.vector_note}."
            )
        name = settings.embedder
        dense = await Dense.open(store.vectors, embedders, name, subjects, progress)
        context = build_context(store, settings)
        legs = {**context.legs, "dense": dense_leg(store.vectors, embedders)}
        second_phase: dict[LegName, SecondPhaseLeg] = {"graph": GraphLeg(pagerank, store)}
        context = replace(
            context,
            legs=legs,
            second_phase=second_phase,
            default_settings=replace(context.default_settings, deadline_ms=_DEADLINE_MS),
        )
        recollect = LocalService(context, OWNER)
        rig, stored, found = Rig(store, connection, recollect, dense), 0, []
        for size in sizes:
            await rig.grow(corpus, stored, size, progress)
            progress(f"{size:,} memories: filling the graph", 0, 1)
            graph, concepts = await _fill(connection, corpus)
            started = perf_counter()
            await pagerank.ready(OWNER)
            read_ms = measure_ms(started)
            questions = _questions(corpus, graph, concepts, queries)
            found.append(await _time(rig, graph, questions, read_ms, progress))
            stored = size
        return found


async def _fill(
    connection: AsyncConnection[Any], corpus: Corpus
) -> tuple[GraphSnapshot, list[NamedConcept]]:
    """Copy a graph as a worker would have built it: one by one would take an hour."""
    cursor = await connection.execute(_IDS)
    ids: list[UUID] = [id for (id,) in await cursor.fetchall()]
    graph = make_graph(len(ids), corpus.seed)
    concepts = [
        NamedConcept.numbered(corpus, number, id) for number, id in enumerate(graph.concepts)
    ]
    await connection.execute(_EMPTY)
    await copy_concepts(connection, concepts)
    mentions = ((ids[memory], concepts[concept]) for memory, concept in _mentions(graph))
    await copy_mentions(connection, mentions)
    await RULES.increment_version(PostgresSession(connection), OWNER)
    for table in _TABLES:
        await connection.execute(f"vacuum analyze {table}")
    return graph, concepts


def _mentions(graph: GraphSnapshot) -> Iterable[tuple[int, int]]:
    return zip(graph.mention_memories, graph.mention_concepts, strict=True)


def _questions(
    corpus: Corpus, graph: GraphSnapshot, concepts: Sequence[NamedConcept], count: int
) -> list[str]:
    """Write questions from words of a memory and names of concepts that link it to others."""
    random = Random(corpus.seed)
    mentioned_by = Counter(graph.mention_concepts)
    mentioned: dict[int, list[int]] = {}
    for memory, concept in _mentions(graph):
        if MIN_MEMORIES <= mentioned_by[concept] <= MAX_MEMORIES:
            mentioned.setdefault(memory, []).append(concept)
    asked = random.sample(
        [memory for memory in mentioned if len(mentioned[memory]) >= _CONCEPTS_PER_QUERY], count
    )
    questions: list[str] = []
    for number in asked:
        words = next(corpus.memories(number, number + 1)).content.split()
        names = [
            concepts[concept].name
            for concept in random.sample(mentioned[number], _CONCEPTS_PER_QUERY)
        ]
        questions.append(" and ".join([" ".join(random.sample(words, _WORDS)), *names]))
    return questions


async def _time(
    rig: Rig, graph: GraphSnapshot, questions: Sequence[str], read_ms: float, progress: Progress
) -> LegTiming:
    size = len(graph.memories)
    took: dict[str, list[float]] = {"graph": [], "dense": [], "embed": []}
    for number, question in enumerate(questions, start=1):
        rounds: dict[str, list[float]] = {part: [] for part in took}
        for _ in range(ROUNDS):
            alone = await rig.time_parts(question)
            report = (await rig.recollect.recall(RecallRequest(question, limit=TOP))).legs["graph"]
            if report.status != "ran":
                raise StoreError(
                    f"the graph was {report.status} for a query that names two of its concepts",
                    remedy=f"{report.note}." if report.note else "Run it again.",
                )
            for part, ms in {**alone, "graph": report.took_ms}.items():
                if part in rounds:
                    rounds[part].append(ms)
        for part, times in rounds.items():
            took[part].append(median(times))
        progress(f"{size:,} memories, both legs", number, len(questions))
    walked, near, embed = (timing(size, part, "", took[part]) for part in took)
    return LegTiming(
        size,
        len(graph.concepts),
        round(read_ms, 1),
        walked.p50_ms,
        walked.p95_ms,
        near.p50_ms,
        near.p95_ms,
        embed.p95_ms,
        round(walked.p95_ms / near.p95_ms, 2),
    )
