"""Embedding on this machine: a model that is loaded when first needed, off the event loop.

Recall is the hot path, so queries have their own thread and never wait for documents. Documents run
on at most half of the processors, one text at a time, and yield to callers that wait for an answer.
Nor does a query wait for a model that takes long to load, for example because it must first be
downloaded and built: it fails with that reason.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol, Self, TypeVar

from recollect.adapters.models.embedders.local_cache import fetch, require_built
from recollect.adapters.models.embedders.local_models import MINILM, LocalModel
from recollect.adapters.models.embedders.local_runtime import Encoder, Reading
from recollect.adapters.models.embedders.weights import Progress
from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import ModelUnavailable
from recollect.core.recall.late import EmbeddedText
from recollect.core.recall.space import Space
from recollect.core.retry import MODEL_RETRY_SECONDS
from recollect.ports.embedding import TokenCodec
from recollect.usecases.priority import Yield, no_yield

_NICENESS = 10
_TEXTS_A_THREAD = 4

Result = TypeVar("Result", list[float], EmbeddedText)


class TextEncoder(Protocol):
    """A loaded model. Called from several threads."""

    def encode(self, text: str) -> list[float]: ...

    def encode_with_tokens(self, text: str) -> EmbeddedText: ...


class LocalEmbedder:
    """An embedder around a model that `load` loads with the first text. The event passed to `load`
    is set when the embedder closes: then nothing waits for the model. `doing` describes the current
    step while it loads; `yield_to_callers` is awaited before each document. `codec` loads the codec
    of token vectors, if the model has one.
    """

    def __init__(
        self,
        space: Space,
        load: Callable[[threading.Event], TextEncoder],
        *,
        doing: Callable[[], str] = lambda: "it is loading",
        yield_to_callers: Yield = no_yield,
        timeouts: Timeouts = TIMEOUTS,
        now: Callable[[], float] = time.monotonic,
        codec: Callable[[], TokenCodec | None] = lambda: None,
    ) -> None:
        self._space = space
        self._codec = codec
        self._load = load
        self._doing = doing
        self._give_way = yield_to_callers
        self._timeouts = timeouts
        self._now = now
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._loading: Future[TextEncoder] | None = None
        self._begun = self._failed = 0.0
        # Threads start with the first text, so that an unused embedder costs nothing.
        self._loads = ThreadPoolExecutor(1, "load-model")
        self._queries = ThreadPoolExecutor(1, "embed-query")
        self._side_by_side = max(1, _processors() // 2)
        self._documents = ThreadPoolExecutor(
            self._side_by_side, "embed-document", initializer=_yield_to_others
        )

    @property
    def space(self) -> Space:
        return self._space

    @property
    def is_hosted(self) -> bool:
        return False

    @property
    def codec(self) -> TokenCodec | None:
        return self._codec()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let running texts finish, drop waiting ones, and release the model."""
        self._closing.set()
        for pool in (self._loads, self._queries, self._documents):
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)
        self._loading = None

    async def load(self) -> None:
        """Load the model now rather than with the first text."""
        await self._load_encoder()

    def embed_query(self, text: str) -> Awaitable[list[float]]:
        """Embed a query. A loaded model starts immediately, not when awaited, because the caller
        starts other work in the meantime. Errors are raised when awaited.
        """
        return self._begin_query(text, self._encode)

    def embed_query_with_tokens(self, text: str) -> Awaitable[EmbeddedText]:
        return self._begin_query(text, self._encode_query_with_tokens)

    def at_once(self, texts: Sequence[str]) -> int:
        """Return a few texts per thread: even at a second per text they are finished soon."""
        return min(len(texts), _TEXTS_A_THREAD * self._side_by_side)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._embed_all(texts, self._encode)

    async def embed_documents_with_tokens(self, texts: Sequence[str]) -> list[EmbeddedText]:
        return await self._embed_all(texts, self._encode_with_tokens)

    async def _embed_all(
        self, texts: Sequence[str], encode: Callable[[TextEncoder, str], Result]
    ) -> list[Result]:
        encoder = await self._load_encoder()
        turns = asyncio.Semaphore(self._side_by_side)

        async def embed(text: str) -> Result:
            async with turns:
                await self._give_way()
                return await self._embed(self._documents, encode, encoder, text)

        tasks = [asyncio.create_task(embed(text)) for text in texts]
        try:
            return await asyncio.gather(*tasks)
        finally:  # if one fails, the others are not needed
            for task in tasks:
                task.cancel()

    def _begin_query(
        self, text: str, encode: Callable[[TextEncoder, str], Result]
    ) -> Awaitable[Result]:
        query, loading = self._space.query_instruction + text, self._loading
        if loading is None or not loading.done() or loading.exception() or self._closing.is_set():
            return self._embed_when_loaded(query, encode)
        return self._embed(self._queries, encode, loading.result(), query)

    async def _embed_when_loaded(
        self, query: str, encode: Callable[[TextEncoder, str], Result]
    ) -> Result:
        encoder = await self._load_encoder(self._timeouts.model_load)
        return await self._embed(self._queries, encode, encoder, query)

    def _embed(
        self,
        pool: ThreadPoolExecutor,
        encode: Callable[[TextEncoder, str], Result],
        encoder: TextEncoder,
        text: str,
    ) -> asyncio.Future[Result]:
        return asyncio.get_running_loop().run_in_executor(pool, encode, encoder, text)

    def _encode(self, encoder: TextEncoder, text: str) -> list[float]:
        vector = encoder.encode(text)
        self._check(vector)
        return vector

    def _encode_with_tokens(self, encoder: TextEncoder, text: str) -> EmbeddedText:
        embedded = encoder.encode_with_tokens(text)
        self._check(embedded.vector)
        return embedded

    def _encode_query_with_tokens(self, encoder: TextEncoder, query: str) -> EmbeddedText:
        embedded = self._encode_with_tokens(encoder, query)
        if embedded.tokens is None:
            return embedded
        return replace(embedded, tokens=embedded.tokens.after(len(self._space.query_instruction)))

    def _check(self, vector: Sequence[float]) -> None:
        if len(vector) != self._space.dimension:
            raise ModelUnavailable(
                f"{self._space.model} returned {len(vector)} numbers instead of "
                f"{self._space.dimension}",
                remedy="Its files are not those of the named model: name the right folder, or run "
                "`recollect reembed` with this model.",
            )

    async def _load_encoder(self, wait_seconds: float | None = None) -> TextEncoder:
        loading = self._begin()
        if not loading.done():
            left = (
                None if wait_seconds is None else max(0.0, self._begun + wait_seconds - self._now())
            )
            waiting = asyncio.wrap_future(loading)
            waiting.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            # A caller that stops waiting does not stop the loading: others may wait for it as well.
            await asyncio.wait([waiting], timeout=left)
        if not loading.done():
            raise ModelUnavailable(
                f"{self._space.model} is not ready yet: {self._doing()}",
                remedy="Wait a little; until then memories are found by words only.",
            )
        return loading.result()

    def _begin(self) -> Future[TextEncoder]:
        """Start loading the model with the first text; a failure is remembered for a minute."""
        with self._lock:
            now, loading = self._now(), self._loading
            if loading is None or (
                loading.done()
                and loading.exception() is not None
                and now - self._failed >= MODEL_RETRY_SECONDS
            ):
                self._begun = now
                self._loading = loading = self._loads.submit(self._try_to_load)
            return loading

    def _try_to_load(self) -> TextEncoder:
        try:
            return self._load(self._closing)
        except BaseException:
            self._failed = self._now()
            raise


def local_embedder(
    models: Path,
    model: LocalModel = MINILM,
    progress: Progress = lambda _step, _share: None,
    yield_to_callers: Yield = no_yield,
    timeouts: Timeouts = TIMEOUTS,
    *,
    may_fetch: bool = True,
) -> LocalEmbedder:
    """Return the embedder of a model that is built on this machine, in the folder `models`. If not
    `may_fetch`, a missing model is an error.
    """
    doing = "it is loading"

    def load(closing: threading.Event) -> TextEncoder:
        def report(step: str, share: float) -> None:
            nonlocal doing
            doing = f"{step}, {share:.0%}"
            if closing.is_set():
                raise ModelUnavailable(
                    f"The embedder was closed while {step}",
                    remedy=f"Run `recollect models get {model.name}` to prepare the model.",
                )
            progress(step, share)

        if may_fetch and model.at_first_use:
            built = fetch(model, models, report)
        else:
            built = require_built(model, models)
        return Encoder(built, Reading(model.max_tokens))

    return LocalEmbedder(
        model.space,
        load,
        doing=lambda: doing,
        yield_to_callers=yield_to_callers,
        timeouts=timeouts,
        codec=lambda: _load_codec(model),
    )


def _load_codec(model: LocalModel) -> TokenCodec | None:
    from recollect.adapters.models.embedders.token_codec import load_codec  # needs numpy

    return load_codec(model.name)


def _yield_to_others() -> None:
    """Lower the priority of this thread: documents can wait, concurrent stores and recalls should
    not. Linux has a niceness per thread, other systems only per process.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
