"""The leg that finds memories by the query's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.request import Candidate
    from recollect.ports.recall import Leg
    from recollect.ports.stores import MemoryStore


def lexical_leg(store: MemoryStore) -> Leg:
    async def leg(context: RecallContext) -> Sequence[Candidate]:
        from recollect.core.recall.decisions import word_query

        return await store.search_words(context.owner, context.scope, word_query(context))

    return leg
