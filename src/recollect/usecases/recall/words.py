"""Recall by words alone, without an event loop: for a hook, which has no time to import one.

Importing `asyncio` costs a fresh process as much as everything else that a recall needs
(docs/adr/0020). So the coroutines of the recall use case run here on a store that never waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import UUID

from recollect.core.errors import InvalidInput, RecollectError
from recollect.core.recall.context import RecallContext
from recollect.core.recall.decisions import check_some_leg_counts, fuse_answers, word_query
from recollect.core.recall.passages import show_passages
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.memory.projects import ProjectStore, resolve_scope
from recollect.usecases.recall.hits import BothAnswers, build_hits, merge_answers
from recollect.usecases.recall.rank import rank_fused

if TYPE_CHECKING:
    from recollect.core.memory.memory import Scope
    from recollect.core.recall.context import Deadline
    from recollect.core.recall.request import Candidate, Hit, RecallRequest
    from recollect.core.recall.settings import WordQuery
    from recollect.ports.recall import RecallStore

    class WordStore(ProjectStore, RecallStore, Protocol):
        """The part of a store that recall by words reads."""

        async def search_words(
            self, owner: str, scope: Scope, query: WordQuery
        ) -> list[Candidate]: ...

        async def read_settings(self) -> Mapping[str, object]: ...

    class SyncedWordStore(WordStore, Protocol):
        async def unsent_ids(self, owner: str) -> Collection[UUID]: ...


T = TypeVar("T")


async def recall_by_words(
    store: WordStore, owner: str, request: RecallRequest, deadline: Deadline, now: datetime
) -> list[Hit]:
    """What the recall use case answers on a store that has no other leg and no second stage."""
    return await _recall(store, owner, await _resolve(store, owner, request, now), deadline)


async def recall_offline_first(
    store: SyncedWordStore,
    owner: str,
    request: RecallRequest,
    deadline: Deadline,
    now: datetime,
    ask_server: Callable[[RecallRequest], list[Hit]],
) -> tuple[list[Hit], RecollectError | None]:
    """What `OfflineFirstService` answers, one side after the other: the server's hits together with
    those that only this store has, or this store's alone, with the server's error.
    """
    request = await _resolve(store, owner, request, now)
    try:
        here = await _recall(store, owner, request, deadline)
    except InvalidInput:  # the request excludes the only leg of this store
        here = []
    # Read before the server is asked: what is sent while it searches would be missing.
    unsent = await store.unsent_ids(owner)
    try:
        there = ask_server(request)
    except RecollectError as error:
        return here, error
    answers = BothAnswers(there, here, {*unsent, *await store.unsent_ids(owner)})
    return await merge_answers(store, owner, request, answers), None


async def _recall(
    store: WordStore, owner: str, request: RecallRequest, deadline: Deadline
) -> list[Hit]:
    settings = RecallSettings().with_stored(await store.read_settings())
    context = RecallContext.create(owner, request, settings, deadline)
    check_some_leg_counts(context, ("lexical",))
    found = await store.search_words(owner, request.scope, word_query(context))
    ranking = await rank_fused(context, store, fuse_answers(context, {"lexical": found}))
    return show_passages(await build_hits(context, store, ranking), request.query)


async def _resolve(
    store: ProjectStore, owner: str, request: RecallRequest, now: datetime
) -> RecallRequest:
    """The request, checked, with its project named in full."""
    request = request.checked().valid_now(now)
    return replace(request, scope=await resolve_scope(store, owner, request.scope))


def run_directly(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits: it ends at its first step."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine that waits needs an event loop")
