"""Compare embedding models: their cost, and how well they find by meaning alone.

Each model's cost is measured in a separate process. Quality is that of an exact dense leg: no
database, no words, no graph. Document vectors are cached, so an interrupted run continues.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np

from recollect.adapters.models.embedders.local_cache import model_folder
from recollect.adapters.models.embedders.local_models import LOCAL_MODELS
from recollect.core.recall.space import TURNS_BEFORE, context_of
from recollect.ports.embedding import Embedder, TokenEmbedder
from recollect.settings import Settings
from recollect.wiring.context import catalogue
from recollect_bench.data.datasets import EvaluationSet, conversations
from recollect_bench.runs.stage import wake
from recollect_bench.scores.metrics import Ranking, means, score
from recollect_bench.speed.server import resident_mb

DEPTH: Final = 50
_BATCH: Final = 64

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Cost:
    """`query_ms` is the median of a single query; `cpu` fields are processor time. `resident_mb` is
    what the loaded model adds, `disk_mb` the size of its folder. Token fields are None for a model
    without token vectors.
    """

    model: str
    query_ms: float
    query_cpu_ms: float
    cpu_s_per_1000_documents: float
    cpu_s_per_1000_with_tokens: float | None
    token_bytes_per_document: float | None
    resident_mb: float
    disk_mb: float | None


@dataclass(frozen=True, slots=True)
class Quality:
    """The dense leg of one model on one set: means over its questions, in percent."""

    model: str
    set: str
    questions: int
    r_at_10: float
    ndcg_at_10: float
    mean_rr: float


def measure_cost(
    settings: Settings, name: str, queries: Sequence[str], documents: Sequence[str]
) -> Cost:
    """Measure in a new process, so that no other model's memory is counted."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_measure_in_process, settings, name, queries, documents).result()


def _measure_in_process(
    settings: Settings, name: str, queries: Sequence[str], documents: Sequence[str]
) -> Cost:
    async def measure() -> Cost:
        before = resident_mb(os.getpid())
        async with catalogue(settings, lambda _step, _share: None) as models:
            embedder = await models.embedder(name)
            await wake(embedder)
            seconds = []
            cpu = time.process_time()
            for query in queries:
                begun = time.perf_counter()
                await embedder.embed_query(query)
                seconds.append(time.perf_counter() - begun)
            query_cpu = time.process_time() - cpu
            cpu = time.process_time()
            await embedder.embed_documents(documents)
            document_cpu = time.process_time() - cpu
            with_tokens = await _encode_tokens(embedder, documents)
            after = resident_mb(os.getpid())
        return Cost(
            model=name,
            query_ms=round(1000 * statistics.median(seconds), 1),
            query_cpu_ms=round(1000 * query_cpu / len(queries), 1),
            cpu_s_per_1000_documents=round(1000 * document_cpu / len(documents), 1),
            cpu_s_per_1000_with_tokens=with_tokens and with_tokens[0],
            token_bytes_per_document=with_tokens and with_tokens[1],
            resident_mb=round(after - before, 1),
            disk_mb=_disk_mb(settings, name),
        )

    return asyncio.run(measure())


async def _encode_tokens(
    embedder: Embedder, documents: Sequence[str]
) -> tuple[float, float] | None:
    """Return the processor seconds for 1,000 texts with token vectors, encoded for storage, and the
    encoded bytes per text.
    """
    codec = embedder.codec if isinstance(embedder, TokenEmbedder) else None
    if codec is None or not isinstance(embedder, TokenEmbedder):
        return None
    cpu = time.process_time()
    embedded = await embedder.embed_documents_with_tokens(documents)
    size = sum(
        len(codec.encode(text, each.tokens))
        for text, each in zip(documents, embedded, strict=True)
        if each.tokens is not None
    )
    seconds = time.process_time() - cpu
    return round(1000 * seconds / len(documents), 1), round(size / len(documents))


def _disk_mb(settings: Settings, name: str) -> float | None:
    model = LOCAL_MODELS.get(name)
    if model is None:
        return None
    folder = model_folder(model, settings.models_folder)
    sizes = [path.stat().st_size for path in folder.iterdir()]
    return round(sum(sizes) / 1_000_000, 1)


async def measure_quality(
    data: EvaluationSet, name: str, embedder: Embedder, progress: Progress
) -> Quality:
    scores = score(data.gold, await _rank(data, embedder, progress))

    def mean(metric: str) -> float:
        return round(100 * means(scores[metric], data.gold), 1)

    return Quality(name, data.name, len(data.gold), mean("R@10"), mean("nDCG@10"), mean("RR"))


async def _rank(data: EvaluationSet, embedder: Embedder, progress: Progress) -> Ranking:
    texts, rows = texts_with_context(data), []
    for start in range(0, len(texts), _BATCH):
        rows += await embedder.embed_documents(texts[start : start + _BATCH])
        progress(f"{data.name}: embedding", len(rows), len(texts))
    vectors = np.asarray(rows, dtype=np.float32)
    scopes = np.array([document.scope or "" for document in data.documents])
    ranking = {}
    for number, question in enumerate(data.questions, start=1):
        cosines = vectors @ np.asarray(await embedder.embed_query(question.text), dtype=np.float32)
        if question.scope is not None:
            cosines = np.where(scopes == question.scope, cosines, -2)
        nearest = np.argsort(-cosines, kind="stable")[:DEPTH]
        ranking[question.id] = [data.documents[int(place)].id for place in nearest]
        progress(f"{data.name}: asking", number, len(data.questions))
    return ranking


def texts_with_context(data: EvaluationSet) -> list[str]:
    """Return the text embedded for each document: a turn of a conversation with those before it."""
    turns: dict[str, list[str]] = defaultdict(list)
    conversation = conversations(data.documents)
    texts = []
    for document in data.documents:
        before = turns[conversation[document.id]] if document.id in conversation else []
        context = context_of(document.content, before[-TURNS_BEFORE:])
        texts.append("\n".join([*context, document.content]))
        before.append(document.content)
    return texts
