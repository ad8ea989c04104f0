"""A text that may not leave any more is not sent again: neither by a retry, nor by halving, nor
with the next part of a batch, nor as the context of another turn.

A request that is under way when a memory changes cannot be called back. The change is made while
the service has the request, and no later request may contain the old words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from tests.clocks import AdvancingClock, run_advancing
from tests.conformance.samples import OWNER, memory
from tests.conformance.stores import opened
from tests.loopback import Cut, Fault, Loopback, Request, Spoiled, Stall, Status
from tests.privacy.canaries import birds_in, canary
from tests.waiting import SECONDS

from recollect.adapters.models.embedders.catalogue import Account, Catalogue
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.memory.memory import EPISODE, Memory
from recollect.core.retry import DOCUMENT_RETRIES
from recollect.usecases.workers.embed import EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker

MODEL = "compatible/x@8"
BIRD = memory(5, canary("sings"))
# Longer than the bird: short texts are embedded first.
PUBLIC = [
    memory(number, f"sparrow {'chirp ' * 20}{number}") for number in range(1, 21) if number != 5
]
FIRST_TURN = memory(1, canary("said"), category=EPISODE, session="chat")
NEXT_TURN = memory(2, "and what then", category=EPISODE, session="chat")

Change = Callable[[PostgresStore, Memory], Coroutine[None, None, None]]


async def hide(store: PostgresStore, memory: Memory) -> None:
    assert await store.replace(replace(memory, is_sensitive=True, version=2), based_on=1)


async def edit(store: PostgresStore, memory: Memory) -> None:
    assert await store.replace(replace(memory, content="moulting", version=2), based_on=1)


async def forget(store: PostgresStore, memory: Memory) -> None:
    assert await store.replace(replace(memory, deleted_at=memory.updated_at, version=2), based_on=1)


async def erase(store: PostgresStore, memory: Memory) -> None:
    assert await store.erase(OWNER, memory.id)


@pytest.fixture
def hosted() -> Iterator[Loopback]:
    with Loopback("compatible") as started:
        yield started


def embed_while(
    url: str, hosted: Loopback, memories: list[Memory], change: Change, fault: Fault
) -> int:
    """Embed the memories, changing the first one during the first request, which then gets the
    fault. Return how many requests had arrived by then.
    """
    reached: list[int] = []

    async def run(loop: AdvancingClock) -> None:
        async def pass_by(seconds: float) -> None:
            loop.advance(seconds)
            await asyncio.sleep(0)

        accounts = {"compatible": Account(None, hosted.base_url)}
        async with (
            opened(url) as (store, vectors),
            Catalogue(Path("/"), accounts=accounts) as catalogue,
        ):
            worker = Worker(
                EmbeddingStep(EmbeddingContext(vectors, catalogue, MODEL)),
                sleep=pass_by,
                now=loop.time,
            )
            await worker.work_off()  # the model answers, and counts as up
            await store.add_many(memories)

            def meanwhile(_: Request) -> Fault:
                asyncio.run_coroutine_threadsafe(change(store, memories[0]), loop).result(SECONDS)
                reached.append(len(hosted.requests))
                if isinstance(fault, Stall):
                    return Stall(lambda: loop.advance(DOCUMENT_RETRIES.request_seconds))
                return fault

            hosted.misbehave(meanwhile)
            await worker.work_off()
            (space,) = await vectors.spaces()
            assert (await vectors.progress(space)).waiting == 0

    run_advancing(run)
    (when,) = reached
    return when


def texts_since(hosted: Loopback, when: int) -> list[str]:
    return [text for request in hosted.requests[when:] for text in request.body["input"]]


FAULTS: dict[str, Fault] = {
    "answered": Spoiled(),  # a correct answer
    "down": Status(503),
    "refused": Status(400),
    "cut": Cut(),
    "busy": Status(429, (("Retry-After", "7"),)),
    "slow": Stall(),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_text_that_became_sensitive_is_not_sent_again(
    database_url: str, hosted: Loopback, fault: str
) -> None:
    when = embed_while(database_url, hosted, [BIRD, *PUBLIC], hide, FAULTS[fault])
    assert birds_in(hosted.received)  # the detector works
    assert birds_in("\n".join(texts_since(hosted, when))) == []
    assert {memory.content for memory in PUBLIC} <= set(texts_since(hosted, 0))


def test_text_that_became_sensitive_before_its_request_is_never_sent(
    database_url: str, hosted: Loopback
) -> None:
    longest = f"{BIRD.content} {'and sings ' * 20}"
    behind = [replace(BIRD, id=UUID(int=99), content=longest), *PUBLIC]
    embed_while(database_url, hosted, behind, hide, FAULTS["answered"])
    assert birds_in(hosted.received) == []
    sent = [text for text in texts_since(hosted, 0) if text.startswith("sparrow")]
    assert sorted(sent) == sorted(memory.content for memory in PUBLIC)  # each once


@pytest.mark.parametrize("change", [edit, forget, erase])
def test_changed_forgotten_or_erased_texts_are_not_sent_again(
    database_url: str, hosted: Loopback, change: Change
) -> None:
    when = embed_while(database_url, hosted, [BIRD, *PUBLIC], change, FAULTS["refused"])
    assert birds_in(hosted.received)
    later = texts_since(hosted, when)
    assert birds_in("\n".join(later)) == []
    assert later.count("moulting") == (change is edit)


@pytest.mark.parametrize(
    ("fault", "change"),
    [
        *((fault, hide) for fault in FAULTS),
        *(("refused", change) for change in (edit, forget, erase)),
    ],
)
def test_sensitive_words_are_not_sent_with_the_following_turn(
    database_url: str, hosted: Loopback, fault: str, change: Change
) -> None:
    when = embed_while(database_url, hosted, [FIRST_TURN, NEXT_TURN], change, FAULTS[fault])
    assert f"{NEXT_TURN.content}\n{FIRST_TURN.content}" in texts_since(hosted, 0)
    later = texts_since(hosted, when)
    assert birds_in("\n".join(later)) == []
    alone = NEXT_TURN.content if change is not edit else f"{NEXT_TURN.content}\nmoulting"
    assert alone in later
