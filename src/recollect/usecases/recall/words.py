"""Recall by words alone, without an event loop: for a hook, which has no time to import one.

Importing `asyncio` costs a new process as much as everything else a recall needs (docs/adr/0020).
So the coroutines of the recall use case run here on a store that never suspends them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from recollect.core.errors import InvalidInput, RecollectError
from recollect.core.recall.decisions import check_some_leg_counts, fuse_answers, word_query
from recollect.core.recall.passages import show_passages
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.memory.projects import ProjectStore
from recollect.usecases.recall.steps import (
    BothAnswers,
    Now,
    begin,
    build_hits,
    merge_answers,
    rank_fused,
)

if TYPE_CHECKING:
    from recollect.core.memory.memory import Scope
    from recollect.core.recall.context import RecallContext
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


async def recall_by_words(
    store: WordStore, owner: str, request: RecallRequest, now: Now
) -> list[Hit]:
    """Recall like the recall use case on a store with no other leg and no second stage."""
    return await _find(await _begin(store, owner, request, now), store)


async def recall_offline_first(
    store: SyncedWordStore,
    owner: str,
    request: RecallRequest,
    now: Now,
    ask_server: Callable[[RecallContext], list[Hit]],
) -> tuple[list[Hit], RecollectError | None]:
    """Recall like `OfflineFirstService`, but one side after the other. Returns the server's hits
    merged with those that only this store has, or this store's alone with the server's error.
    """
    asked = await _begin(store, owner, request, now)
    try:
        here = await _find(asked, store)
    except InvalidInput:  # the request excludes the only leg of this store
        here = []
    # Read before asking the server: a memory sent while it searches would be missing.
    unsent = await store.unsent_ids(owner)
    try:
        there = ask_server(asked)
    except RecollectError as error:
        return here, error
    answers = BothAnswers(there, here, {*unsent, *await store.unsent_ids(owner)})
    return await merge_answers(asked, store, answers), None


async def _begin(store: WordStore, owner: str, request: RecallRequest, now: Now) -> RecallContext:
    settings = RecallSettings().with_stored(await store.read_settings())
    return await begin(store, owner, request, settings, now)


async def _find(asked: RecallContext, store: WordStore) -> list[Hit]:
    check_some_leg_counts(asked, ("lexical",))
    found = await store.search_words(asked.owner, asked.scope, word_query(asked))
    ranking = await rank_fused(asked, store, fuse_answers(asked, {"lexical": found}))
    return show_passages(await build_hits(asked, store, ranking), asked.request.query)
