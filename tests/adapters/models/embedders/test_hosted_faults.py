"""What a hosted embedder does when the service fails, stalls, answers wrongly or asks to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.clocks import AdvancingClock, run_advancing
from tests.loopback import Api, Cut, Fault, Garbage, Loopback, Request, Spoiled, Stall, Status

from recollect.adapters.models.embedders.hosted import FIRST_TEXTS, PROVIDERS, HostedEmbedder
from recollect.core.errors import ModelBusy, ModelSlow, ModelUnavailable
from recollect.core.retry import DOCUMENT_RETRIES, RetryAfter, RetryPolicy

APIS: tuple[Api, ...] = ("voyage", "openai", "cohere", "compatible")
KEY = "key-that-must-not-show"
TEXT = "text-that-must-not-show"
PATIENT = RetryPolicy(
    request_seconds=30, attempts=4, total_seconds=60, first_wait=0.5, longest_wait=8
)
TWICE = RetryPolicy(
    request_seconds=30, attempts=2, total_seconds=99, first_wait=0.5, longest_wait=8
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    """Where the engine alone is tested, any API will do."""
    with Loopback("openai") as started:
        yield started


@pytest.fixture(params=APIS)
def each_server(request: pytest.FixtureRequest) -> Iterator[Loopback]:
    with Loopback(request.param) as started:
        yield started


@dataclass
class Waits:
    """Replaces sleeping, so that no test sleeps and every wait is recorded."""

    loop: AdvancingClock
    seconds: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.loop.advance(seconds)
        await asyncio.sleep(0)


def make_embedder(server: Loopback, **options: Any) -> HostedEmbedder:
    return HostedEmbedder(
        PROVIDERS[server.api],
        egress="local",
        key=KEY,
        model="some-model",
        dimension=8,
        base_url=server.base_url,
        **options,
    )


def embed(server: Loopback, retries: RetryPolicy = PATIENT, texts: int = 1) -> tuple[int, Waits]:
    """Embed texts and return the number of vectors and the waits between requests."""

    async def run(loop: AdvancingClock) -> tuple[int, Waits]:
        waits = Waits(loop)
        async with make_embedder(
            server, document_retries=retries, sleep=waits, jitter=lambda: 1.0
        ) as embedder:
            return len(await embedder.embed_documents([TEXT] * texts)), waits

    return run_advancing(run)


def expect_refusal(
    server: Loopback, retries: RetryPolicy = PATIENT, texts: int = 1
) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as caught:
        embed(server, retries, texts)
    return caught.value


PASSING: tuple[Fault, ...] = (Status(500), Status(503), Status(429), Status(408), Cut())


@pytest.mark.parametrize("fault", PASSING, ids=repr)
def test_temporary_failures_are_retried_with_backoff(server: Loopback, fault: Fault) -> None:
    server.misbehave(fault, fault, fault)
    count, waits = embed(server)
    assert count == 1
    assert waits.seconds == [0.5, 0.5 * 2, 0.5 * 2 * 2]
    assert len(server.requests) == 4


@pytest.mark.parametrize("fault", PASSING, ids=repr)
def test_retries_are_bounded(server: Loopback, fault: Fault) -> None:
    server.misbehave(*[fault] * 10)
    error = expect_refusal(server)
    assert "tried 4 times" in str(error)
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(400, "model"), (401, "key"), (403, "key"), (404, "address"), (422, "model")],
)
def test_permanent_failures_are_not_retried(server: Loopback, status: int, remedy: str) -> None:
    server.misbehave(Status(status))
    error = expect_refusal(server)
    assert f"status {status}" in str(error)
    assert remedy in error.remedy
    assert len(server.requests) == 1


def test_retry_after_is_obeyed(server: Loopback) -> None:
    server.misbehave(Status(429, (("Retry-After", "7"),)), Status(503, (("Retry-After", "0"),)))
    _, waits = embed(server)
    assert waits.seconds == [7.0, 1.0]


def test_a_wait_past_the_limit_is_not_begun(server: Loopback) -> None:
    server.misbehave(Status(429, (("Retry-After", "3600"),)))
    assert "rate limit" in expect_refusal(server).remedy
    assert len(server.requests) == 1


def test_a_stalled_request_is_given_up_and_tried_again(server: Loopback) -> None:
    async def run(loop: AdvancingClock) -> None:
        server.misbehave(*[Stall(lambda: loop.advance(30))] * 2)
        async with make_embedder(server, document_retries=TWICE, sleep=Waits(loop)) as embedder:
            with pytest.raises(ModelUnavailable, match=r"did not answer within 30\.0 s"):
                await embedder.embed_documents([TEXT])

    run_advancing(run)
    assert len(server.requests) == 2


def test_a_server_that_is_gone_is_named() -> None:
    with Loopback("openai") as server:
        pass
    error = expect_refusal(server)
    assert "could not be reached" in str(error)
    assert server.base_url in str(error)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Spoiled(dimension=6), "dimension 6, not 8"),
        (Spoiled(missing=1), "1 vectors for 2 texts"),
        (Garbage(b"<html>busy</html>"), "in the wrong format"),
        (Garbage(b"\xff\xfe"), "in the wrong format"),
        (Garbage(b""), "in the wrong format"),
        (Garbage(b"[" * 100_000), "in the wrong format"),
        (Garbage(b'{"data": 5, "embeddings": 5}'), "in the wrong format"),
        (Garbage(b'{"data": [], "embeddings": {"float": []}}'), "0 vectors for 2 texts"),
    ],
    ids=str,
)
def test_a_wrong_answer_is_refused_at_once(each_server: Loopback, fault: Fault, says: str) -> None:
    each_server.misbehave(fault)
    assert says in str(expect_refusal(each_server, texts=2))
    assert len(each_server.requests) == 1


@pytest.mark.parametrize("api", ["voyage", "openai", "compatible"])
def test_vectors_that_share_a_number_are_refused(api: Api) -> None:
    with Loopback(api) as server:
        server.misbehave(Spoiled(renumbered=True))
        assert "which vector belongs" in str(expect_refusal(server, texts=2))


@pytest.mark.parametrize(
    "numbers",
    ["0,0,0,0,0,0,0,0", "NaN,0,0,0,0,0,0,0", "1e999,0,0,0,0,0,0,0", '"a",0,0,0,0,0,0,0'],
)
def test_a_vector_without_direction_is_refused(each_server: Loopback, numbers: str) -> None:
    data = f'"data": [{{"index": 0, "embedding": [{numbers}]}}]'
    body = f'{{{data}, "embeddings": {{"float": [[{numbers}]]}}}}'
    each_server.misbehave(Garbage(body.encode()))
    assert "without a direction" in str(expect_refusal(each_server))


def test_a_redirect_is_not_followed(server: Loopback) -> None:
    with Loopback(server.api) as other:
        server.misbehave(Status(307, (("Location", other.base_url + "/embeddings"),)))
        assert "redirects" in expect_refusal(server).remedy
        assert other.received == b""


def test_a_query_is_given_up_sooner_than_documents(server: Loopback) -> None:
    once = RetryPolicy(
        request_seconds=20, attempts=1, total_seconds=20, first_wait=1, longest_wait=1
    )

    async def run(loop: AdvancingClock) -> None:
        server.misbehave(Stall(lambda: loop.advance(20)))
        async with make_embedder(server, query_retries=once, document_retries=PATIENT) as embedder:
            with pytest.raises(ModelUnavailable, match="did not answer"):
                await embedder.embed_query(TEXT)
            assert len(await embedder.embed_documents([TEXT])) == 1

    run_advancing(run)


def sizes(server: Loopback) -> list[int]:
    return [len(request.body["input"]) for request in server.requests]


def test_a_server_that_is_too_slow_is_sent_half_of_it_the_next_time(server: Loopback) -> None:
    async def run(loop: AdvancingClock) -> None:
        slow = Stall(lambda: loop.advance(DOCUMENT_RETRIES.request_seconds))
        server.misbehave(slow, slow)
        async with make_embedder(server) as embedder:
            for _ in range(2):
                with pytest.raises(ModelSlow, match="did not answer"):
                    await embedder.embed_documents([TEXT] * 20)
            assert embedder.at_once([TEXT] * 20) == FIRST_TEXTS // 4
            assert len(await embedder.embed_documents([TEXT] * 20)) == 20

    run_advancing(run)
    # No text was sent again without being requested again; then the sizes grow again.
    assert sizes(server)[:3] == [FIRST_TEXTS, FIRST_TEXTS // 2, FIRST_TEXTS // 4]
    assert sum(sizes(server)[2:]) == 20


def test_an_answer_that_takes_long_does_not_make_the_next_request_larger(server: Loopback) -> None:
    async def run(loop: AdvancingClock) -> None:
        long = DOCUMENT_RETRIES.request_seconds * 0.3

        def answer_slowly(_: Request) -> Fault:
            loop.advance(long)
            return Spoiled()  # in fact unspoiled: only slow

        server.misbehave(*[answer_slowly] * 3)
        async with make_embedder(server) as embedder:
            await embedder.embed_documents([TEXT] * 3 * FIRST_TEXTS)

    run_advancing(run)
    assert sizes(server) == [FIRST_TEXTS] * 3


@pytest.mark.parametrize("status", [429, 503])
def test_a_requested_wait_holds_for_the_whole_account(server: Loopback, status: int) -> None:
    async def run(loop: AdvancingClock) -> None:
        async def pass_by(seconds: float) -> None:
            loop.advance(seconds)
            await asyncio.sleep(0)

        retry_after = RetryAfter()
        async with (
            make_embedder(server, retry_after=retry_after) as one,
            make_embedder(server, retry_after=retry_after) as other,
        ):
            server.misbehave(Status(status, (("Retry-After", "600"),)))
            with pytest.raises(ModelBusy, match=f"status {status}") as caught:
                await one.embed_documents([TEXT])
            assert caught.value.seconds == 600
            for asked in (one.embed_query, other.embed_query):
                with pytest.raises(ModelBusy, match="asked to wait another") as busy:
                    await asked(TEXT)
                assert 0 < busy.value.seconds <= 600
            await pass_by(500)
            with pytest.raises(ModelBusy, match="asked to wait"):
                await other.embed_documents([TEXT])
            assert len(server.requests) == 1
            await pass_by(100)
            assert len(await other.embed_documents([TEXT])) == 1

    run_advancing(run)
    assert len(server.requests) == 2
