"""The hosted embedders against a real server that speaks each API's wire format."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.loopback import Api, Loopback, Spoiled, vector_of

from recollect.adapters.models.embedders.hosted import FIRST_TEXTS, PROVIDERS, HostedEmbedder
from recollect.core.retry import DOCUMENT_RETRIES

pytestmark = pytest.mark.anyio

APIS: tuple[Api, ...] = ("voyage", "openai", "cohere", "compatible")
KEY = "key-that-must-not-show"
TEXTS = ["the staging database is read-only", "naïve café ☕", "deploys happen on Tuesday"]


@pytest.fixture(params=APIS)
def server(request: pytest.FixtureRequest) -> Iterator[Loopback]:
    with Loopback(request.param) as started:
        yield started


def embedder_of(server: Loopback, **options: object) -> HostedEmbedder:
    defaults: dict[str, object] = {
        "egress": "local",
        "key": KEY,
        "model": "some-model",
        "dimension": 8,
        "base_url": server.base_url,
        "query_retries": DOCUMENT_RETRIES,  # a busy machine may be slow to answer itself
    }
    return HostedEmbedder(PROVIDERS[server.api], **(defaults | options))  # type: ignore[arg-type]  # a table of options


async def documents(server: Loopback, texts: list[str], **options: object) -> list[list[float]]:
    async with embedder_of(server, **options) as embedder:
        return await embedder.embed_documents(texts)


async def query(server: Loopback, text: str, **options: object) -> list[float]:
    async with embedder_of(server, **options) as embedder:
        return await embedder.embed_query(text)


def unit(vector: list[float]) -> list[float]:
    norm = math.hypot(*vector)
    return [number / norm for number in vector]


DOCUMENT_PURPOSE = {"voyage": "document", "cohere": "search_document"}
QUERY_PURPOSE = {"voyage": "query", "cohere": "search_query"}


async def test_documents_come_back_in_order_and_of_length_one(server: Loopback) -> None:
    purpose = DOCUMENT_PURPOSE.get(server.api, "")
    assert await documents(server, TEXTS) == [unit(vector_of(text, 8, purpose)) for text in TEXTS]


async def test_a_query_says_that_it_is_one_and_bears_its_instruction(server: Loopback) -> None:
    found = await query(server, "when do we deploy", query_instruction="Find: ")
    purpose = QUERY_PURPOSE.get(server.api, "")
    assert found == unit(vector_of("Find: when do we deploy", 8, purpose))


async def test_documents_do_not_bear_the_instruction(server: Loopback) -> None:
    await documents(server, ["a fact"], query_instruction="Find: ")
    assert not server.saw("Find")


EXPECTED_BODIES: dict[Api, dict[str, object]] = {
    "voyage": {
        "input": ["one", "two"],
        "model": "some-model",
        "input_type": "document",
        "truncation": True,
        "output_dimension": 8,
    },
    "openai": {
        "input": ["one", "two"],
        "model": "some-model",
        "encoding_format": "float",
        "dimensions": 8,
    },
    "cohere": {
        "texts": ["one", "two"],
        "model": "some-model",
        "input_type": "search_document",
        "embedding_types": ["float"],
        "truncate": "END",
        "output_dimension": 8,
    },
    "compatible": {"input": ["one", "two"], "model": "some-model"},
}


async def test_the_request_is_exactly_the_apis_own(server: Loopback) -> None:
    await documents(server, ["one", "two"])
    (request,) = server.requests
    assert request.body == EXPECTED_BODIES[server.api]
    assert request.path == ("/v2/embed" if server.api == "cohere" else "/v1/embeddings")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("api", "model", "dimension", "field", "sent"),
    [
        ("voyage", "voyage-3.5", 1024, "output_dimension", 1024),
        ("openai", "text-embedding-3-small", 1536, "dimensions", 1536),
        ("openai", "text-embedding-3-large", 3072, "dimensions", 3072),
        ("openai", "text-embedding-ada-002", 1536, "dimensions", None),
        ("cohere", "embed-v4.0", 1536, "output_dimension", 1536),
        ("cohere", "embed-english-v3.0", 1024, "output_dimension", None),
    ],
)
async def test_a_known_model_needs_no_dimension(
    api: Api, model: str, dimension: int, field: str, sent: int | None
) -> None:
    with Loopback(api, dimension=dimension) as server:
        (vector,) = await documents(server, ["one"], model=model, dimension=None)
        assert len(vector) == dimension
        assert server.requests[0].body.get(field) == sent


@pytest.mark.parametrize(
    ("api", "space"),
    [("voyage", "voyage/voyage-3.5"), ("openai", "openai/text-embedding-3-small")],
)
def test_the_space_names_provider_model_and_dimension(api: Api, space: str) -> None:
    with Loopback(api) as server:
        embedder = embedder_of(server, model="", dimension=512, query_instruction="Find: ")
    assert embedder.space.model == space
    assert embedder.space.dimension == 512
    assert embedder.space.query_instruction == "Find: "


async def test_a_compatible_server_needs_no_key() -> None:
    with Loopback("compatible") as server:
        await documents(server, ["one"], key=None)
        assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("api", ["voyage", "openai", "compatible"])
async def test_the_order_is_restored_by_index(api: Api) -> None:
    with Loopback(api) as server:
        straight = await documents(server, TEXTS)
        server.misbehave(Spoiled(shuffled=True))
        assert await documents(server, TEXTS) == straight


async def test_many_texts_go_in_requests_that_grow_to_the_providers_size(server: Loopback) -> None:
    provider = PROVIDERS[server.api]
    texts = [f"fact number {number}" for number in range(3 * provider.max_texts)]
    # However busy the machine, an answer within minutes counts as quick.
    calm = replace(DOCUMENT_RETRIES, request_seconds=9999, total_seconds=9999)
    vectors = await documents(server, texts, document_retries=calm)
    purpose = DOCUMENT_PURPOSE.get(server.api, "")
    assert vectors == [unit(vector_of(text, 8, purpose)) for text in texts]
    field = "texts" if server.api == "cohere" else "input"
    sizes = [len(request.body[field]) for request in server.requests]
    assert sizes[:3] == [FIRST_TEXTS, 2 * FIRST_TEXTS, 4 * FIRST_TEXTS]
    assert max(sizes) == provider.max_texts


async def test_no_text_no_request(server: Loopback) -> None:
    assert await documents(server, []) == []
    assert server.requests == []


@pytest.mark.parametrize(
    "text", ["", "\x00", "half a pair \ud800", "\u202eright to left", "🦊" * 50]
)
async def test_any_text_can_be_embedded(server: Loopback, text: str) -> None:
    assert math.hypot(*await query(server, text)) == pytest.approx(1)
