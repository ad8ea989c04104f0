"""The leg that matches meaning: the query's vector against the memories' vectors.

A cosine means something only in comparison with those of unrelated texts, so each candidate also
says how far it lies above them (`core/recall/background.py`).

Vectors of two spaces are never compared. The stored space names the model that wrote it; the model
of that name in this process must write the same space, or the leg fails and says how to fix it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final

from recollect.core.errors import StoreError
from recollect.core.recall.background import Unrelated, read_background
from recollect.core.recall.context import RecallContext
from recollect.core.recall.decisions import second_stage
from recollect.core.recall.late import EmbeddedText
from recollect.core.recall.request import UNKNOWN_EVIDENCE, Candidate, Declined
from recollect.core.recall.space import StoredSpace
from recollect.core.text.terms import main_language
from recollect.ports.embedding import BackgroundCache, Embedder, Embedders, TokenEmbedder
from recollect.ports.recall import Leg, VectorIndex, VectorQuery
from recollect.usecases.priority import awaited_by_callers
from recollect.usecases.recall.legs import must_stay
from recollect.usecases.tasks import analyze_text, cancel, exception_of

_NO_PAST_VECTORS: Final = Declined(
    "skipped", "vectors exist only for current texts; --as-of searches by words", "past"
)
# Below one half: no hit is clearly relevant to a query that the model cannot read.
_MAX_EVIDENCE_UNREADABLE: Final = 0.49


class Backgrounds:
    """The vectors of the background texts in each space in use, embedded once by a task that
    outlives the recall: if a recall runs out of time, the next one has them. Processes that live
    for one recall share them through a `cache`.
    """

    def __init__(self, cache: BackgroundCache | None = None) -> None:
        self._cache = cache
        self._tasks: dict[str, asyncio.Task[list[list[float]]]] = {}

    async def prepare(self, embedder: Embedder) -> None:
        """Embed the background now rather than on the first recall."""
        await asyncio.shield(self._task(embedder))

    async def measure(
        self, embedder: Embedder, query: Sequence[float], seconds: float
    ) -> Unrelated | None:
        """Compare the query with the background; None if that is not embedded in time."""
        task = self._task(embedder)
        await asyncio.wait([task], timeout=seconds)
        if not task.done() or exception_of(task) is not None:
            return None
        return Unrelated.measure(query, task.result())

    def _task(self, embedder: Embedder) -> asyncio.Task[list[list[float]]]:
        name = embedder.space.name
        task = self._tasks.get(name)
        if task is None or (task.done() and exception_of(task) is not None):
            task = asyncio.create_task(self._embed(embedder))
            task.add_done_callback(exception_of)  # perhaps nobody waits any more
            self._tasks[name] = task
        return task

    async def _embed(self, embedder: Embedder) -> list[list[float]]:
        background = read_background()
        if self._cache is not None:
            known = self._cache.read(embedder.space, background)
            if known is not None:
                return known
        with awaited_by_callers():
            vectors = await embedder.embed_documents(background)
        if self._cache is not None:
            self._cache.write(embedder.space, background, vectors)
        return vectors


def dense_leg(
    vectors: VectorIndex, embedders: Embedders, backgrounds: Backgrounds | None = None
) -> Leg:
    """Return the leg over one index of vectors, with the models that this process can run.

    The store says which model to use. While waiting for that answer, the model used last already
    embeds the query: it is nearly always the right one. If not, its vector is dropped.
    """
    last: tuple[StoredSpace, Embedder] | None = None
    backgrounds = backgrounds or Backgrounds()

    async def leg(context: RecallContext) -> Sequence[Candidate] | Declined:
        nonlocal last
        owner, request = context.owner, context.request
        if request.as_of is not None:
            return _NO_PAST_VECTORS
        text = request.query
        if not text:
            return ()
        guessed, early = None, None
        wants_tokens = second_stage(context) == "late"
        if last is not None:
            guessed, model = last
            early = asyncio.ensure_future(_embed(model, text, wants_tokens=wants_tokens))
        try:
            survey = await vectors.survey(owner, context.scope)
            if survey.space is None:
                return Declined(
                    "absent",
                    "no memory is embedded yet; run `recollect worker` or `recollect serve`",
                    "nothing_embedded",
                )
            embedder = await embedders.embedder(survey.space.embedder)
            survey.space.require(embedder.space)
            if embedder.is_hosted and await must_stay(request):
                return Declined(
                    "skipped",
                    f"the query is sensitive, and {survey.space.embedder} runs on another machine",
                    "sensitive_query",
                )
            # A guess must not send a query to another machine.
            last = None if embedder.is_hosted else (survey.space, embedder)
            language = await analyze_text(len(text), main_language, text)
            trust = embedder.space.trust(language)
            if early is not None and survey.space == guessed:
                embedded = await early
            else:
                embedded = await _embed(embedder, text, wants_tokens=wants_tokens)
            if isinstance(embedded, EmbeddedText):
                context.encoded.keep(survey.space, embedded.tokens, trust)
                vector = embedded.vector
            else:
                vector = embedded
            seconds = context.deadline.left_for_legs / 2
            unrelated = await backgrounds.measure(embedder, vector, seconds)
        finally:
            if early is not None:
                cancel(early)
        found = await vectors.nearest(
            owner,
            context.scope,
            # The index itself excludes them, so that they take up no place among the hits.
            VectorQuery(
                space=survey.space,
                vector=vector,
                use_index=survey.use_index,
                has_passages=survey.has_passages,
                spread=0.0 if unrelated is None else unrelated.spread,
                depth=context.depth,
                exclude=request.exclude,
            ),
        )
        # In a script that it was not trained on, a model finds any two texts alike.
        max_evidence = 1.0 if trust > 0.0 else _MAX_EVIDENCE_UNREADABLE
        return [
            candidate._replace(
                evidence=UNKNOWN_EVIDENCE
                if unrelated is None
                else min(unrelated.evidence(candidate.score), max_evidence),
                trust=trust,
            )
            for candidate in found
        ]

    return leg


def _embed(
    embedder: Embedder, text: str, *, wants_tokens: bool
) -> Awaitable[EmbeddedText | list[float]]:
    """Embed the query. Not a coroutine: a local model starts before the result is awaited."""
    if wants_tokens and isinstance(embedder, TokenEmbedder) and embedder.codec is not None:
        return embedder.embed_query_with_tokens(text)
    return embedder.embed_query(text)


def no_dense_leg(reason: str) -> Leg:
    """Return the leg of a server that has a model but cannot store vectors. That is a fault, and
    every recall reports it: hits that only meaning finds are missing.
    """

    async def leg(context: RecallContext) -> Sequence[Candidate] | Declined:
        if context.request.as_of is not None:
            return _NO_PAST_VECTORS
        if not context.request.query:
            return ()
        raise StoreError(
            f"this Postgres cannot store vectors: {reason}",
            remedy="Fix that, or set RECOLLECT_EMBEDDER=none if recall by words will do.",
        )

    return leg
