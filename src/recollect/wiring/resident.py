"""The process that holds the model of a home: `recollect mcp`, while its session lasts.

Of several, the one with the lock loads the model, embeds what waits, and answers the recalls of the
others, of hooks and of commands. The kernel releases the lock when that process ends, however it
ends, and the next one takes over. A recall of the session itself waits a moment for a model that is
being loaded, here or there; what takes longer goes by words.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from recollect.adapters.files.file_lock import FileLock
from recollect.adapters.resident import socket_path
from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.errors import ModelUnavailable, RecollectError
from recollect.core.privacy.redaction import locations, safe_message
from recollect.core.retry import MODEL_RETRY_SECONDS
from recollect.usecases.service import LocalService, SharedModelService
from recollect.usecases.tasks import cancel_and_wait
from recollect.wiring.context import build_curation, open_reranker
from recollect.wiring.local import (
    Local,
    ask_resident,
    build_words,
    find_model,
    find_needed_model,
    is_available,
    open_cached,
    open_context,
    open_local_on,
    open_recall_log,
    open_service,
    open_store,
    words_only_hint,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from recollect.adapters.sqlite.store import SqliteStore
    from recollect.core.recall.request import RecallRequest, Recollection
    from recollect.ports.recall import OwnerRecall
    from recollect.ports.service import Service
    from recollect.settings import Settings
    from recollect.usecases.context import Context
    from recollect.usecases.workers.worker import Step
    from recollect.wire.hook_call import HookCall, HookReply

    AnswerCall = Callable[
        [HookCall, Path, OwnerRecall], Awaitable[tuple[HookReply, Callable[[], None]]]
    ]
    """Return the reply to a hook of this home, and what to call once the reply is shown."""

log = logging.getLogger(__name__)

# How soon a process takes over from one that ended, or notices a downloaded model.
_POLL_SECONDS: Final = 1.0
# How soon a recall that waits for the model sees that it is loaded.
_LOOK_SECONDS: Final = 0.02
_LOADING: Final = (
    "The embedding model is not loaded yet. Until it is, memories are found by words only."
)
_FAILED: Final = ModelUnavailable(
    "the embedding model could not be loaded", remedy="Run `recollect doctor`."
)
# Sessions belong to agents, which write over MCP.
_ACTOR: Final = "mcp"
_NO_ANSWER: Final = (
    "The session that holds the embedding model did not answer. This recall went by words."
)


@asynccontextmanager
async def open_session(
    settings: Settings, answer_call: AnswerCall | None = None
) -> AsyncIterator[Service]:
    """Open the memory for a process that lives as long as an agent's session. On a local store, it
    holds the model unless another process of this home does, and answers hooks with `answer_call`.
    """
    if settings.mode == "remote" or settings.embedder == NO_EMBEDDER:
        async with open_service(settings, syncing=True, actor=_ACTOR) as service:
            yield service
    elif settings.mode == "cached":
        async with (
            open_cached(settings, actor=_ACTOR) as cached,
            cached.syncing(),
            _open_words(cached.store, settings) as words,
            _open_resident(
                cached.store, settings, replace(words, revisions=cached.sync), answer_call
            ) as resident,
        ):
            yield replace(cached.service, local=resident.service())
    else:
        async with (
            open_store(settings) as store,
            open_recall_log(store) as shown,
            open_reranker(settings) as reranker,
            _open_words(store, settings) as words,
            _open_resident(
                store, settings, replace(words, reranker=reranker), answer_call
            ) as resident,
        ):
            yield resident.service(shown.note, patience=settings.timeouts.session_model)


@asynccontextmanager
async def _open_words(store: SqliteStore, settings: Settings) -> AsyncIterator[Context]:
    """Open the context that a session works with until the model is loaded. If there is a model,
    the context reports its progress.
    """
    if find_model(settings) is None:
        yield replace(build_words(store, settings), actor=_ACTOR)
        return
    async with open_local_on(store, settings, None) as local:
        yield replace(local.context, actor=_ACTOR)


def can_preload(settings: Settings) -> bool:
    """Return whether a session may load its model before the first call: only on a local store, and
    only a model that is on this machine. Anything else could contact another machine unasked.
    """
    from recollect.adapters.models.embedders.local_models import LOCAL_MODELS

    if settings.mode != "local" or not settings.sqlite_path.exists():
        return False
    model = find_needed_model(settings)
    is_here = model in LOCAL_MODELS or model.startswith("folder:")
    return is_here and is_available(settings, model)


class Resident:
    """Holds the model while this process has the lock. Call `run` in the background. `words` is the
    context that the process works with until then.
    """

    def __init__(
        self,
        store: SqliteStore,
        settings: Settings,
        words: Context,
        answer_call: AnswerCall | None = None,
    ) -> None:
        self._answer_call = answer_call
        self._store = store
        self._settings = settings
        self._words = words
        self._lock = FileLock(settings.home / "recall.lock")
        self._held: Context | None = None
        self._is_elsewhere = False
        self._error: RecollectError | None = None

    def service(
        self,
        on_recall: Callable[[Recollection], None] = lambda _: None,
        *,
        patience: float = 0.0,
    ) -> SharedModelService:
        """The use cases for this process. A recall waits so many seconds for a model that is being
        loaded.
        """
        return SharedModelService(
            replace(self._words, hint=self._hint),
            self._settings.owner,
            on_recall,
            ask_resident=partial(self._recall, patience),
            open_model=self._open_model,
        )

    def _hint(self, _owner: str) -> str | None:
        """Say why a recall was by words."""
        if self._is_elsewhere:
            return _NO_ANSWER
        if self._error is not None:
            return f"Memories are found by words only: {self._error}. {self._error.remedy}"
        return words_only_hint(self._settings) or _LOADING

    async def run(self) -> None:
        """Hold the model as soon as no other process does, until cancelled."""
        while True:
            seconds = _POLL_SECONDS
            try:
                if (model := find_model(self._settings)) is not None:
                    await self._try_to_hold(model)
            except RecollectError as error:
                self._error, seconds = error, MODEL_RETRY_SECONDS
            except Exception as error:  # noqa: BLE001  # a bug of ours must not end the session
                _log_bug(error)
                self._error, seconds = _FAILED, MODEL_RETRY_SECONDS
            finally:
                self._lock.release()
            await asyncio.sleep(seconds)

    async def _try_to_hold(self, model: str) -> None:
        try:
            self._is_elsewhere = not self._lock.acquire()
        except OSError:  # without locks there are no sockets either: nothing can be shared
            await self._hold(model, is_shared=False)
            return
        if not self._is_elsewhere:
            await self._hold(model)

    async def _hold(self, model: str, *, is_shared: bool = True) -> None:
        async with AsyncExitStack() as stack:
            opening = open_local_on(self._store, self._settings, model, words=self._words)
            local = await stack.enter_async_context(opening)
            await local.load()
            self._error = None
            self._held = local.context
            stack.callback(self._release)
            if is_shared:
                await self._listen(stack)
            await stack.enter_async_context(_run_workers(local))
            await asyncio.Event().wait()

    async def _listen(self, stack: AsyncExitStack) -> None:
        from recollect.adapters.resident.listener import listening

        answer_hook = None if self._answer_call is None else self._answer_hook
        try:
            await stack.enter_async_context(
                listening(self._settings.home, self._answer, answer_hook)
            )
        except OSError as error:  # this session still recalls by meaning
            log.warning("no socket for other processes: %s", safe_message(error))

    def _release(self) -> None:
        self._held = None

    async def _recall(self, patience: float, request: RecallRequest) -> Recollection | None:
        now = asyncio.get_running_loop().time
        until = now() + patience
        while self._held is None:
            answer = await ask_resident(self._settings, request)
            if answer is not None or now() >= until or not self._is_loading():
                return answer
            await asyncio.sleep(_LOOK_SECONDS)
        return await self._answer(self._settings.owner, request)

    def _is_loading(self) -> bool:
        """Whether a process of this home is about to hold the model: this one, or another, which
        listens once it does.
        """
        if self._error is not None or find_model(self._settings) is None:
            return False
        home = os.fspath(self._settings.home)
        return not (self._is_elsewhere and os.path.exists(socket_path(home)))  # noqa: PTH110  # as its address is made

    async def _answer(self, owner: str, request: RecallRequest) -> Recollection:
        if self._held is None:
            raise RuntimeError("the model was released")
        return await LocalService(self._held, owner).recall(request)

    async def _answer_hook(self, call: HookCall) -> tuple[HookReply, Callable[[], None]]:
        if self._answer_call is None:
            raise RuntimeError("this process answers no hooks")
        return await self._answer_call(call, self._settings.home, self._answer)

    @asynccontextmanager
    async def _open_model(self) -> AsyncIterator[Context]:
        if self._held is not None:
            yield self._held
            return
        opening = open_context(self._words, self._store, self._settings, catching_up=True)
        async with opening as context:
            yield context


@asynccontextmanager
async def _open_resident(
    store: SqliteStore, settings: Settings, words: Context, answer_call: AnswerCall | None
) -> AsyncIterator[Resident]:
    resident = Resident(store, settings, words, answer_call)
    running = asyncio.create_task(resident.run(), name="resident")
    try:
        yield resident
    finally:
        await cancel_and_wait(running)


@asynccontextmanager
async def _run_workers(local: Local) -> AsyncIterator[None]:
    """While entered, analyze, embed and read queued memories, and examine changed ones, unless
    workers are off. With a server, proposals are made there.
    """
    from recollect.usecases.workers.steps import (
        AnalysisStep,
        CurationStep,
        EmbeddingStep,
        GraphStep,
    )
    from recollect.usecases.workers.worker import persist

    steps: list[Step] = []
    if local.settings.worker != "off":
        steps += [AnalysisStep(local.analysis), EmbeddingStep(local.embedding)]
        if local.graph.mode != "off":
            steps.append(GraphStep(local.graph))
        if local.settings.mode == "local":
            curation = build_curation(local.context, local.settings)
            steps += [] if curation is None else [CurationStep(curation)]
    tasks = [asyncio.create_task(persist(step, _log_bug)) for step in steps]
    try:
        yield
    finally:
        # Workers need a moment to release what they claimed.
        await cancel_and_wait(*tasks, cancel_again=5 * local.settings.timeouts.give_back)


def _log_bug(error: Exception) -> None:
    log.error("recall by meaning failed: %s at %s", safe_message(error), locations(error))
