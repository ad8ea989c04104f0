"""Embed a batch of the memories that have no vector yet, without letting a bad text block others.

A text that its model cannot read counts as a failure of that text alone, and is parked after too
many. If the model does not work at all, no text is blamed. After a crash, everything claimed is
still in the queue: the queue is the data (docs/adr/0008).

A claimed text may be changed, forgotten or made sensitive while others are embedded. So it is
checked again before each further request, and no text is held while waiting: a model that is busy
or slow ends the batch, and the caller decides when to retry.

A long text is embedded passage by passage, and is done when all of its passages are
(docs/adr/0047). Short texts go first, and results are stored before a long text begins, so that an
interrupted batch loses little.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import hypot, isfinite
from typing import Final, NamedTuple
from uuid import UUID

from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import (
    ModelBusy,
    ModelSlow,
    ModelUnavailable,
    RecollectError,
    StoreError,
)
from recollect.core.privacy.redaction import safe_message
from recollect.core.recall.late import EmbeddedText, TokenVectors
from recollect.core.recall.passages import PassageVector, job_passages, mix_with_first
from recollect.core.recall.settings import RecallSettings
from recollect.core.recall.space import EmbeddingJob, StoredSpace
from recollect.core.text.passages import Span
from recollect.ports.embedding import (
    Embedder,
    Embedders,
    EmbeddingQueue,
    TokenCodec,
    TokenEmbedder,
)
from recollect.ports.stores import SettingsStore
from recollect.usecases.workers.backoff import BackoffEvent

# A model that needs a second per text must finish a batch before its claim expires.
BATCH: Final = 32
# A text that every model can read: if it fails, the model is at fault.
_PROBE: Final = "recollect"
# Texts not begun this long after the claim are given back: a request may take 20 s (core/retry.py),
# and the vectors must be stored before the claim expires.
BEGIN_SECONDS: Final = 25.0
# Texts beyond this number of passages are given back, too, except the first text.
MAX_PASSAGES: Final = 256


@dataclass(frozen=True, slots=True)
class EmbeddingContext:
    """What embedding needs. `default` names the model of a database's first space. Token vectors
    are stored only while the `settings` use them.
    """

    queue: EmbeddingQueue
    embedders: Embedders
    default: str
    timeouts: Timeouts = TIMEOUTS
    settings: SettingsStore | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a batch: no text is begun after `seconds`, and none is claimed whose content
    has more than `max_bytes`.
    """

    seconds: float = BEGIN_SECONDS
    max_bytes: int | None = None


WHOLE_BATCH: Final = Budget()


@dataclass(frozen=True, slots=True)
class Embedded:
    """The outcome of a batch: how many vectors were stored, and which memories failed."""

    space: StoredSpace
    kept: int
    failed: tuple[UUID, ...] = ()


OnEmbedding = Callable[[Embedded | BackoffEvent], None]


async def embed_batch(
    context: EmbeddingContext,
    space: StoredSpace,
    *,
    known_to_work: bool,
    budget: Budget = WHOLE_BATCH,
) -> Embedded | None:
    """Embed some of what a space lacks; return None if there is nothing to do now.

    Raise ModelUnavailable or InvalidInput if its model does not work here; no text is counted as
    failed then.
    """
    embedder = await _ready_embedder(context, space, known_to_work=known_to_work)
    jobs = await context.queue.claim(space, BATCH, budget.max_bytes)
    if not jobs:
        await context.queue.clear_error(space)
        return None
    batch = _Batch(context.queue, space, embedder, await _read_codec(context, embedder))
    try:
        await batch.embed(sorted(jobs, key=lambda job: len(job.text)), budget.seconds)
    except asyncio.CancelledError:
        with suppress(RecollectError, TimeoutError):
            async with asyncio.timeout(context.timeouts.give_back):
                await batch.end()
                await context.queue.give_back(space, batch.untried(jobs))
        raise
    except RecollectError as error:
        await batch.end()
        await context.queue.give_back(space, batch.untried(jobs), str(error))
        raise
    await batch.end()
    if untried := batch.untried(jobs):
        await context.queue.give_back(space, untried)
    return Embedded(space, batch.kept, tuple(job.memory_id for job, _ in batch.failed))


class _Piece(NamedTuple):
    """One passage of a job's text."""

    job: EmbeddingJob
    number: int
    text: str


@dataclass(slots=True)
class _Batch:
    """A batch in progress: the texts that have vectors, how many were stored, and those that
    failed on their own.
    """

    queue: EmbeddingQueue
    space: StoredSpace
    embedder: Embedder
    codec: TokenCodec | None = None
    done: list[tuple[EmbeddingJob, Sequence[float]]] = field(default_factory=list)
    passages: dict[EmbeddingJob, list[PassageVector]] = field(default_factory=dict)
    tokens: dict[EmbeddingJob, list[bytes]] = field(default_factory=dict)
    failed: list[tuple[EmbeddingJob, str]] = field(default_factory=list)
    kept: int = 0
    is_fresh: bool = True  # no request was made since the claim
    _saved: int = 0  # of `done`
    _unsaved_pieces: int = 0
    _spans: dict[EmbeddingJob, list[Span]] = field(default_factory=dict)
    _vectors: dict[EmbeddingJob, list[Sequence[float]]] = field(default_factory=dict)

    async def embed(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        """Halve a failing group until the texts at fault are alone; raise if the model is at fault.
        Ends early when time is up, but never inside a text: it might need more time than any batch
        has.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        waiting = [self._pieces(jobs)]
        while waiting and (clock() < until or waiting[-1][0].number):
            group = await self._next(waiting)
            if not group:
                continue
            try:
                texts = [piece.text for piece in group]
                embedded = await _embed(self.embedder, texts, with_tokens=self.codec is not None)
            except Exception as error:  # one bad text must not stop the others
                if isinstance(error, ModelBusy) or (isinstance(error, ModelSlow) and group[1:]):
                    raise  # may succeed later, or with fewer texts at once
                if clock() >= until:
                    return
                await _probe(self.embedder)
                if len(group) == 1:
                    self.failed.append((group[0].job, safe_message(error)))
                else:
                    middle = len(group) // 2
                    waiting += [group[middle:], group[:middle]]
            else:
                for piece, result in zip(group, embedded, strict=True):
                    self._add_tokens(piece, result.tokens)
                    self._add(piece.job, result.vector)
                self._unsaved_pieces += len(group)
                if self._unsaved_pieces >= BATCH:
                    await self._save()

    def _pieces(self, jobs: Sequence[EmbeddingJob]) -> list[_Piece]:
        pieces: list[_Piece] = []
        for job in jobs:
            spans = job_passages(job, self.embedder.space.window)
            if pieces and len(pieces) + len(spans) > MAX_PASSAGES:
                break
            self._spans[job] = spans
            pieces += [_Piece(job, n, job.text[slice(*span)]) for n, span in enumerate(spans)]
        return pieces

    def _add(self, job: EmbeddingJob, vector: Sequence[float]) -> None:
        """Add the vector of a job's next passage; passages come in order."""
        spans, vectors = self._spans[job], self._vectors.setdefault(job, [])
        vectors.append(vector)
        if len(vectors) == len(spans):
            self.done.append((job, vectors[0]))
            if spans[1:]:
                self.passages[job] = [*map(PassageVector, spans, mix_with_first(vectors))]
            del self._vectors[job]

    def _add_tokens(self, piece: _Piece, tokens: TokenVectors | None) -> None:
        """Add the tokens of the memory's own words, without the context embedded with them."""
        if self.codec is None or tokens is None:
            return
        job, span = piece.job, self._spans[piece.job][piece.number]
        if job.context_at is not None:
            tokens = tokens.before(job.context_at - span.start)
        block = self.codec.encode(piece.text, tokens, span.start)
        self.tokens.setdefault(job, []).append(block)

    async def _next(self, waiting: list[list[_Piece]]) -> list[_Piece]:
        """Return the unchanged pieces for the next request; put the others back."""
        group = waiting.pop()
        failed = {job for job, _ in self.failed}
        group = [piece for piece in group if piece.job not in failed]
        if not self.is_fresh:
            jobs = list(dict.fromkeys(piece.job for piece in group))
            unchanged = set(await self.queue.select_unchanged(self.space, jobs))
            group = [piece for piece in group if piece.job in unchanged]
        self.is_fresh = False
        at_once = self.embedder.at_once([piece.text for piece in group])
        if group[at_once:]:
            waiting.append(group[at_once:])
        return group[:at_once]

    async def end(self) -> None:
        """Store what is done, and record what failed."""
        await self._save()
        for job, error in self.failed:
            await self.queue.fail(self.space, [job], error)

    async def _save(self) -> None:
        done, self._saved = self.done[self._saved :], len(self.done)
        self._unsaved_pieces = 0
        self.kept += await _finish(self.queue, self.space, self, done)

    def untried(self, jobs: Sequence[EmbeddingJob]) -> list[EmbeddingJob]:
        tried = {job for job, _ in (*self.done, *self.failed)}
        return [job for job in jobs if job not in tried]


async def _finish(
    queue: EmbeddingQueue,
    space: StoredSpace,
    batch: _Batch,
    done: Sequence[tuple[EmbeddingJob, Sequence[float]]],
) -> int:
    """Store the vectors; one that the store refuses must not block the others."""
    if not done:
        return 0
    try:
        passages = {job: batch.passages[job] for job, _ in done if job in batch.passages}
        tokens = {job: batch.tokens[job] for job, _ in done if job in batch.tokens}
        return await queue.finish(space, done, passages, tokens)
    except StoreError as error:
        if type(error) is not StoreError:  # unreachable, busy or full: no vector is at fault
            raise
        if len(done) == 1:
            batch.failed.append((done[0][0], str(error)))
            return 0
    middle = len(done) // 2
    kept = await _finish(queue, space, batch, done[:middle])
    return kept + await _finish(queue, space, batch, done[middle:])


async def _ready_embedder(
    context: EmbeddingContext, space: StoredSpace, *, known_to_work: bool
) -> Embedder:
    """Return the space's model; raise if the model of that name now writes another space."""
    try:
        embedder = await context.embedders.embedder(space.embedder)
        space.require(embedder.space)
        if not known_to_work and not embedder.is_hosted:
            # Load the model into memory, which may take long, before claiming any text.
            await _probe(embedder)
    except RecollectError as error:
        await context.queue.give_back(space, [], str(error))
        raise
    return embedder


async def _read_codec(context: EmbeddingContext, embedder: Embedder) -> TokenCodec | None:
    """Return the codec for token vectors; None if they are not used or the model has none."""
    if context.settings is None or not isinstance(embedder, TokenEmbedder):
        return None
    settings = RecallSettings().with_stored(await context.settings.read_settings())
    return embedder.codec if settings.second_stage == "late" else None


async def _probe(embedder: Embedder) -> None:
    """Raise ModelUnavailable if the model cannot embed even a plain word."""
    try:
        await _embed(embedder, [_PROBE])
    except RecollectError:
        raise
    except Exception as error:
        raise ModelUnavailable(
            f"{embedder.space.model} fails with {type(error).__name__}",
            remedy="Fetch or export the model again, or choose another one.",
        ) from error


async def _embed(
    embedder: Embedder, texts: Sequence[str], *, with_tokens: bool = False
) -> list[EmbeddedText]:
    if with_tokens and isinstance(embedder, TokenEmbedder):
        embedded = await embedder.embed_documents_with_tokens(texts)
    else:
        plain = await embedder.embed_documents(texts)
        embedded = [EmbeddedText(vector, None) for vector in plain]
    vectors = [text.vector for text in embedded]
    dimensions = {len(vector) for vector in vectors}
    if len(vectors) != len(texts) or dimensions != {embedder.space.dimension}:
        raise ModelUnavailable(
            f"{embedder.space.model} made {len(vectors)} vectors of dimension "
            f"{sorted(dimensions)} for {len(texts)} texts, instead of dimension "
            f"{embedder.space.dimension}",
            remedy="Check the model's address or files: they belong to another model.",
        )
    if not all(
        isfinite(length) and length > 0.0 for length in (hypot(*vector) for vector in vectors)
    ):
        raise ModelUnavailable(
            f"{embedder.space.model} made a vector that has no direction",
            remedy="Fetch or export the model again, or choose another one.",
        )
    return embedded
