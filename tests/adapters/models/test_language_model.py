"""A language model that answers well, badly, slowly and maliciously, over a real connection."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.chat_loopback import ChatLoopback, Fault, Sent, model, says

from recollect.adapters.models.language_model import MAX_ANSWER, CompatibleReader, compatible_reader
from recollect.core.errors import InvalidInput, ModelUnavailable
from recollect.core.graph.extraction import ReadTexts
from recollect.core.retry import EXTRACTION_RETRIES, RetryPolicy

pytestmark = pytest.mark.anyio

RETRIES = RetryPolicy(
    request_seconds=60.0, attempts=3, total_seconds=600.0, first_wait=0.0, longest_wait=0.0
)
GOOD = model(says(("Ada", "knows", "Bob")))
TRIPLE = {"subject": "Ada", "relation": "knows", "object": "Bob"}


async def read(
    server: ChatLoopback, *texts: str, retries: RetryPolicy = RETRIES, **options: Any
) -> ReadTexts:
    reader = CompatibleReader(server.url, "m", egress="local", retries=retries, **options)
    async with reader as opened:
        return await opened.read(texts)


async def test_each_text_gets_its_own_answer_whatever_the_order() -> None:
    def answer_backwards(sent: Sent) -> str:
        listed = [
            {"id": message["id"], "triples": says((message["text"], "is", "Here"))(message["text"])}
            for message in reversed(sent)
        ]
        return json.dumps({"memories": listed})

    with ChatLoopback(answer_backwards) as server:
        answer = await read(server, "first", "second", key="secret-key")
    assert answer.tokens == 123
    assert {place: triples[0]["subject"] for place, triples in answer.answers.items()} == {  # type: ignore[index]  # plain JSON
        0: "first",
        1: "second",
    }
    assert server.keys == ["Bearer secret-key"]
    request = server.requests[0]
    assert request["response_format"]["json_schema"]["strict"] is True
    tags = [message["id"] for message in server.sent()]
    assert len(set(tags)) == 2
    assert min(map(len, tags)) >= 16  # so the tag of another memory cannot be guessed


async def test_an_answer_in_a_fence_is_read() -> None:
    with ChatLoopback(lambda sent: f"```json\n{GOOD(sent)}\n```") as server:
        assert set((await read(server, "a")).answers) == {0}


async def test_what_is_usable_of_a_partial_answer_is_kept() -> None:
    with ChatLoopback(lambda sent: GOOD(sent[:1])) as server:
        assert set((await read(server, "a", "b")).answers) == {0}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "I cannot do that",
        "[]",
        "null",
        '{"memories": 7}',
        '{"memories": [7, null, {"id": 7, "triples": []}, {"triples": []}]}',
        '{"memories": [{"id": "somebody else", "triples": []}]}',
        "[" * 50_000,
        '{"memories": [' * 5_000,
    ],
)
async def test_an_unusable_answer_is_no_answer(content: str) -> None:
    with ChatLoopback(lambda _sent: content) as server:
        read_nothing = await read(server, "a")
    assert read_nothing.answers == {}
    assert read_nothing.tokens == 123  # it was paid for all the same


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b'{"choices": []}', b'{"choices": [{"message": {"content": 7}}]}', b"\xff\xfe"],
)
async def test_a_body_of_another_form_is_no_answer(body: bytes) -> None:
    with ChatLoopback(GOOD) as server:
        server.misbehave(Fault(200, body))
        assert (await read(server, "a")).answers == {}


async def test_ids_of_other_memories_and_second_answers_are_dropped() -> None:
    def answer_twice(sent: Sent) -> str:
        (one,) = sent
        answers = [
            {"id": "00" * 8, "triples": [TRIPLE]},
            {"id": one["id"], "triples": []},
            {"id": one["id"], "triples": [TRIPLE]},
        ]
        return json.dumps({"memories": answers})

    with ChatLoopback(answer_twice) as server:
        assert (await read(server, "a")).answers == {0: []}


def _wrong_types(sent: Sent) -> str:
    odd: list[object] = [7, None, "x", [], {"subject": ["Ada"], "relation": {}, "object": None}]
    odd += [{**TRIPLE, "subject": "x" * 5_000}, {**TRIPLE, "subject": "nul\0"}, TRIPLE]
    return json.dumps({"memories": [{"id": message["id"], "triples": odd} for message in sent]})


def _very_many(sent: Sent) -> str:
    return json.dumps(
        {"memories": [{"id": message["id"], "triples": [TRIPLE] * 900} for message in sent]}
    )


@pytest.mark.parametrize(("spoken", "most"), [(_wrong_types, 2), (_very_many, 60)])
async def test_what_is_kept_of_an_answer_has_its_form_and_bounds(
    spoken: Callable[[Sent], str], most: int
) -> None:
    with ChatLoopback(spoken) as server:
        (kept,) = (await read(server, "a")).answers.values()
    assert isinstance(kept, list)
    assert len(kept) == most
    assert TRIPLE in kept


async def test_an_answer_without_an_end_is_not_read_to_it() -> None:
    with ChatLoopback(GOOD) as server:
        server.misbehave(Fault(200, b" " * (MAX_ANSWER + 100_000)))
        with pytest.raises(ModelUnavailable, match="does not end"):
            await read(server, "a")
    assert len(server.requests) == 1


async def test_a_text_is_sent_once_unless_the_worker_asks_again() -> None:
    with ChatLoopback(GOOD) as server:
        server.misbehave(Fault(503))
        async with CompatibleReader(
            server.url, "m", egress="local", retries=EXTRACTION_RETRIES
        ) as reader:
            with pytest.raises(ModelUnavailable, match="status 503"):
                await reader.read(["a"])
    assert len(server.requests) == 1


async def test_temporary_failures_are_retried() -> None:
    with ChatLoopback(GOOD) as server:
        server.misbehave(Fault(503), Fault(429, headers=(("Retry-After", "0"),)))
        assert set((await read(server, "a")).answers) == {0}
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 302])
async def test_permanent_failures_are_not_retried(status: int) -> None:
    with ChatLoopback(GOOD) as server:
        server.misbehave(Fault(status, b"secret-key and the text of a memory"))
        with pytest.raises(ModelUnavailable, match=str(status)) as raised:
            await read(server, "the text of a memory", key="secret-key")
    assert len(server.requests) == 1
    shown = f"{raised.value} {raised.value.remedy} {raised.value.__context__}"
    assert "secret-key" not in shown
    assert "the text of a memory" not in shown


async def test_one_that_never_answers_is_given_up() -> None:
    retries = RetryPolicy(0.2, attempts=2, total_seconds=60, first_wait=0.0, longest_wait=0.0)
    with ChatLoopback(GOOD) as server:
        server.misbehave(Fault(stalls=True), Fault(stalls=True))
        with pytest.raises(ModelUnavailable, match="did not answer"):
            await read(server, "a", retries=retries)


@pytest.mark.parametrize("tokens", [None, "many", -1, 10**12])
async def test_odd_counts_of_tokens_count_nothing(tokens: object) -> None:
    with ChatLoopback(GOOD, tokens=tokens) as server:
        assert (await read(server, "a")).tokens == 0


def test_text_does_not_leave_this_machine_unless_it_may() -> None:
    with pytest.raises(InvalidInput, match="RECOLLECT_EGRESS=local"):
        CompatibleReader(
            "https://api.example.org/v1", "m", egress="local", retries=EXTRACTION_RETRIES
        )
    CompatibleReader(
        "https://api.example.org/v1", "m", egress="hosted", key="k", retries=EXTRACTION_RETRIES
    )
    with pytest.raises(InvalidInput, match="A key must not be sent"):
        CompatibleReader(
            "http://api.example.org/v1", "m", egress="hosted", key="k", retries=EXTRACTION_RETRIES
        )
    with pytest.raises(InvalidInput, match="contains invalid characters"):
        CompatibleReader(
            "http://127.0.0.1:1/v1", "m", egress="local", key="a\nb", retries=EXTRACTION_RETRIES
        )


@pytest.mark.parametrize("url", [None, ""])
def test_a_language_model_must_be_named(url: str | None) -> None:
    with pytest.raises(InvalidInput, match="none is set"):
        compatible_reader(url, "m", egress="local", key=None)
