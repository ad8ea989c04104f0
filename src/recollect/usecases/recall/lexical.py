"""The leg that finds memories by their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.core.recall.request import Candidate, RecallRequest
    from recollect.core.recall.settings import RecallSettings
    from recollect.ports.recall import Leg
    from recollect.ports.stores import MemoryStore


def lexical_leg(store: MemoryStore) -> Leg:
    """The leg that matches words, on any store."""

    async def leg(
        owner: str, request: RecallRequest, settings: RecallSettings
    ) -> Sequence[Candidate]:
        from recollect.core.recall.settings import WordQuery

        return await store.search_words(
            owner,
            request.scope,
            WordQuery(
                text=request.query,
                expanded=request.expanded_query,
                depth=max(settings.depth, request.limit),
                exclude=request.exclude,
                as_of=request.as_of,
            ),
        )

    return leg
