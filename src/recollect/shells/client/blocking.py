"""The client for programs without an event loop: runs the asynchronous one in its own thread.

No method is written twice. Each is derived from its asynchronous counterpart, with its signature,
types and documentation.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import Future
from functools import update_wrapper, wraps
from threading import Lock, Thread
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar, Unpack

from recollect.core.memory.batch import Remembered
from recollect.shells.client.asynchronous import AsyncClient, Options, not_open_error
from recollect.shells.client.batches import Rememberable, batches

Params = ParamSpec("Params")
Answer = TypeVar("Answer")
Twin = TypeVar("Twin", bound=Callable[..., object])


def _make_blocking(
    method: Callable[Concatenate[AsyncClient, Params], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[Client, Params], Answer]:
    """Return the blocking version of a method."""

    @wraps(method)
    def call(self: Client, /, *args: Params.args, **kwargs: Params.kwargs) -> Answer:
        return self._wait(method(self._client, *args, **kwargs))

    return call


def _make_blocking_iterator(
    method: Callable[Concatenate[AsyncClient, Params], AsyncIterator[Answer]],
) -> Callable[Concatenate[Client, Params], Iterator[Answer]]:
    """Return the blocking version of an asynchronous iterator."""

    @wraps(method)
    def iterate(self: Client, /, *args: Params.args, **kwargs: Params.kwargs) -> Iterator[Answer]:
        answers = method(self._client, *args, **kwargs)
        while True:
            try:
                answer = self._wait(_next_of(answers))
            except StopAsyncIteration:
                return
            yield answer

    return iterate


def _twin_of(method: Callable[..., object]) -> Callable[[Twin], Twin]:
    """Copy the documentation of a method to its blocking version, where that is hand-written."""

    def copy_docs(twin: Twin) -> Twin:
        update_wrapper(twin, method)
        return twin

    return copy_docs


async def _next_of(answers: AsyncIterator[Answer]) -> Answer:
    return await anext(answers)


class Client:
    """The client for programs without an event loop; use it in a `with` block. Threads may share
    it.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        self._client = AsyncClient(**options)
        self._loop: _LoopThread | None = None

    def __enter__(self) -> Self:
        self._loop = _LoopThread()
        try:
            self._loop.wait(self._client.__aenter__())
        except BaseException:
            self._loop.stop()
            self._loop = None
            raise
        return self

    def __exit__(self, *_: object) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            try:
                loop.wait(self._client.__aexit__(None, None, None))
            finally:
                loop.stop()

    remember = _make_blocking(AsyncClient.remember)

    @_twin_of(AsyncClient.remember_many)
    def remember_many(
        self,
        memories: Iterable[Rememberable],
        *,
        on_batch: Callable[[Sequence[Remembered]], object] = lambda _: None,
    ) -> list[Remembered]:
        # Reads in the caller's thread, where a generator may use this client, or a database.
        results: list[Remembered] = []
        for batch in batches(memories):
            stored = self._wait(self._client.remember_many(batch))
            on_batch(stored)
            results += stored
        return results

    recall = _make_blocking(AsyncClient.recall)
    why = _make_blocking(AsyncClient.why)
    get = _make_blocking(AsyncClient.get)
    page = _make_blocking(AsyncClient.page)
    iter_memories = _make_blocking_iterator(AsyncClient.iter_memories)
    update = _make_blocking(AsyncClient.update)
    link = _make_blocking(AsyncClient.link)
    unlink = _make_blocking(AsyncClient.unlink)
    history = _make_blocking(AsyncClient.history)
    restore = _make_blocking(AsyncClient.restore)
    forget = _make_blocking(AsyncClient.forget)
    brief = _make_blocking(AsyncClient.brief)
    audit = _make_blocking(AsyncClient.audit)
    export = _make_blocking(AsyncClient.export)
    import_ = _make_blocking(AsyncClient.import_)
    stats = _make_blocking(AsyncClient.stats)
    settings = _make_blocking(AsyncClient.settings)
    change_settings = _make_blocking(AsyncClient.change_settings)
    memory_tool = _make_blocking(AsyncClient.memory_tool)

    def _wait(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        loop = self._loop
        if loop is None:
            work.close()
            raise not_open_error()
        return loop.wait(work)


class MemoryTool:
    """Anthropic's memory tool on a client, for a tool loop: `to_dict()` declares the tool to the
    API, `call(input)` runs the model's command, and `result(...)` builds the block that answers it.
    """

    name: Final = "memory"

    def __init__(self, client: Client, *, project: str | None = None) -> None:
        self._client = client
        self._project = project

    def to_dict(self) -> dict[str, str]:
        return {"type": "memory_20250818", "name": self.name}

    def call(self, input: Mapping[str, Any]) -> str:
        return self._client.memory_tool(input, project=self._project).text

    def result(self, tool_use_id: str, input: Mapping[str, Any]) -> dict[str, object]:
        answer = self._client.memory_tool(input, project=self._project)
        return {
            "type": "tool_result",
            "tool_use_id": tool_use_id,
            "content": answer.text,
            "is_error": answer.is_error,
        }


class _LoopThread:
    """Runs an event loop in a thread until stopped."""

    def __init__(self) -> None:
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = Thread(target=self._run, name="recollect-client", daemon=True)
        self._thread.start()
        self._loop, self._ended = self._started.result()
        self._asking = Lock()
        self._is_ending = False

    def wait(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        with self._asking:
            # A loop that is closing accepts work silently and never runs it.
            if self._is_ending:
                work.close()
                raise not_open_error()
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # after Ctrl-C, no one waits for the answer
            future.cancel()
            raise

    def stop(self) -> None:
        with self._asking:
            self._is_ending = True
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._until_ended())

    async def _until_ended(self) -> None:
        ended = asyncio.Event()
        self._started.set_result((asyncio.get_running_loop(), ended))
        await ended.wait()
