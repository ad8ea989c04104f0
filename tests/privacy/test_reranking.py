"""The reranker gets no sensitive memory, and on another machine no sensitive query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from tests.core.privacy.secret_samples import some
from tests.privacy.canaries import birds_in, canary

from recollect.core.memory.memory import Draft
from recollect.core.recall.request import LegName, RecallRequest, Recollection
from recollect.ports.recall import Leg
from recollect.usecases.context import Context
from recollect.usecases.recall.lexical import lexical_leg
from recollect.usecases.service import LocalService
from recollect.wiring.context import SystemClock
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio

SONGS = ("the lark sings", "the wren sings", f"the {canary('safe')} sings")


@dataclass
class Recording:
    """A reranker that records all it gets."""

    is_hosted: bool
    shown: list[str] = field(default_factory=list)

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.shown += [query, *texts]
        return [float(len(text)) for text in texts]


async def recall_songs(reranker: Recording, request: RecallRequest) -> Recollection:
    store = InMemoryStore()
    legs: dict[LegName, Leg] = {"lexical": lexical_leg(store)}
    mine = LocalService(Context(store, store, SystemClock(), legs, reranker=reranker), "me")

    await mine.change_settings({"second_stage": "cross-encoder", "min_relevance": 0.0})
    for song in SONGS:
        await mine.remember(Draft(song, is_sensitive=canary("safe") in song))
    found = await mine.recall(request)
    (sensitive,) = [hit.memory for hit in found.hits if hit.memory.is_sensitive]
    await mine.why(str(sensitive.id), request)
    return found


@pytest.mark.parametrize("is_hosted", [False, True])
async def test_a_sensitive_memory_is_found_but_not_shown_to_the_model(is_hosted: bool) -> None:
    reranker = Recording(is_hosted)
    found = await recall_songs(reranker, RecallRequest("sings"))
    assert len(found.hits) == len(SONGS)
    assert found.rerank is not None
    assert found.rerank.reranked == 2
    assert {"sings", *SONGS[:2]} == set(reranker.shown)
    assert birds_in(repr(reranker.shown)) == []


@pytest.mark.parametrize(
    "request_",
    [
        RecallRequest(f"sings {canary('query')}", is_sensitive=True),
        RecallRequest(f"sings token=ghp_{some(36)}"),
        RecallRequest("sings", expanded_query=f"token=ghp_{some(36)}"),
    ],
)
async def test_a_sensitive_query_is_not_sent_to_a_model_elsewhere(request_: RecallRequest) -> None:
    reranker = Recording(is_hosted=True)
    found = await recall_songs(reranker, request_)
    assert len(found.hits) == len(SONGS)
    assert found.rerank is not None
    assert found.rerank.status == "skipped"
    assert "sensitive" in str(found.rerank.note)
    assert reranker.shown == []


async def test_a_model_on_this_machine_may_read_it() -> None:
    reranker = Recording(is_hosted=False)
    await recall_songs(reranker, RecallRequest("sings", is_sensitive=True))
    assert "sings" in reranker.shown


async def test_a_former_text_of_what_is_sensitive_now_is_not_shown_to_the_model() -> None:
    reranker = Recording(is_hosted=True)
    store = InMemoryStore()
    legs: dict[LegName, Leg] = {"lexical": lexical_leg(store)}
    mine = LocalService(Context(store, store, SystemClock(), legs, reranker=reranker), "me")

    await mine.change_settings({"second_stage": "cross-encoder"})
    first = await mine.remember(Draft(f"the {canary('safe')} sings"))
    await mine.remember(Draft("the lark sings"))
    hidden = await mine.update(str(first.id), {"content": "silence", "is_sensitive": True})
    then = hidden.updated_at - timedelta(microseconds=1)
    found = await mine.recall(RecallRequest("sings", as_of=then))
    assert {hit.memory.content for hit in found.hits} == {
        f"the {canary('safe')} sings",
        "the lark sings",
    }
    assert reranker.shown == ["sings", "the lark sings"]
