"""Recall by words without an event loop."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.conformance.samples import OWNER, fill, memory
from tests.strategies import MOMENT

from recollect.core.recall.context import Deadline, RecallContext
from recollect.core.recall.request import Hit, RecallRequest
from recollect.usecases.coroutines import run_directly
from recollect.usecases.recall.steps import Now
from recollect.usecases.recall.words import recall_by_words, recall_offline_first
from recollect_bench.in_memory import InMemoryStore

END = MOMENT + timedelta(days=1)
DEADLINE = Deadline(0.0, 60.0, lambda: 0.0)


class Synced(InMemoryStore):
    async def unsent_ids(self, owner: str) -> frozenset[object]:
        return frozenset()


@pytest.mark.parametrize(("later", "found"), [(-1, 1), (0, 0)])
def test_the_caller_says_what_time_it_is(later: int, found: int) -> None:
    store, now = Synced(), END + timedelta(seconds=later)
    run_directly(fill(store, memory(1, "the harbour", valid_until=END)))
    request = RecallRequest("harbour")
    here = run_directly(recall_by_words(store, OWNER, request, Now(now, DEADLINE)))
    assert len(here) == found
    asked: list[RecallContext] = []

    def ask_server(sent: RecallContext) -> list[Hit]:
        asked.append(sent)
        return []

    run_directly(recall_offline_first(store, OWNER, request, Now(now, DEADLINE), ask_server))  # type: ignore[arg-type]  # ids are not read
    assert asked[0].scope.valid_at == now
