"""Embeddings from another server: one engine for every provider.

The same things can go wrong with every provider, so they are handled once: the size of requests and
the order and size of responses here, the transport in hosted_api.py. How many texts a server can
handle in time is unknown: a small machine may take a second for each. So requests start small, grow
while they are answered quickly, and are halved when one times out.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self

import httpx

from recollect.adapters.models.hosted_api import Failure, HostedApi, Sleep, can_be_key, refusal
from recollect.core.errors import InvalidInput, ModelSlow
from recollect.core.privacy.egress import Egress
from recollect.core.recall.space import Space
from recollect.core.retry import (
    DOCUMENT_RETRIES,
    QUERY_RETRIES,
    RetryAfter,
    RetryPolicy,
)

# Checks of a response: vectors that can be stored, or the reason why there are none. Every number
# is checked, because a vector of the wrong text or size would silently degrade recall.

_CHECK_SERVER: Final = "Check that the address is an embedding API of this kind."


def read_vectors(
    provider: Provider, body: bytes, *, count: int, dimension: int
) -> list[list[float]] | Failure:
    """Return the vectors in the order of the texts, each of length 1."""
    try:
        numbered = provider.parse(json.loads(body))
        by_place = dict(numbered)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return Failure("sent an answer in the wrong format", _CHECK_SERVER)
    if len(numbered) != count:
        return Failure(f"sent {len(numbered)} vectors for {count} texts", _CHECK_SERVER)
    if set(by_place) != set(range(count)):
        return Failure("did not say which vector belongs to which text", _CHECK_SERVER)
    vectors = [_to_unit(by_place[place], dimension) for place in range(count)]
    failed = [vector for vector in vectors if isinstance(vector, Failure)]
    return failed[0] if failed else [vector for vector in vectors if isinstance(vector, list)]


def _to_unit(vector: object, dimension: int) -> list[float] | Failure:
    if not isinstance(vector, Sequence) or isinstance(vector, str):
        return Failure("sent something that is not a vector", _CHECK_SERVER)
    if len(vector) != dimension:
        return Failure(
            f"sent vectors of dimension {len(vector)}, not {dimension}",
            f"Set the dimension to {len(vector)} if this is the right model; that creates "
            "a new space, so run `recollect reembed`.",
        )
    try:
        norm = math.hypot(*vector)
    except (TypeError, OverflowError):
        norm = math.nan
    if not (math.isfinite(norm) and norm > 0):
        return Failure("sent a vector without a direction", _CHECK_SERVER)
    return [number / norm for number in vector]


# One small description per provider. Providers differ only in their address, field names and
# limits; batching, retries and checks are the same for all. Field names and limits are from the
# providers' API references: docs.voyageai.com/reference/embeddings-api,
# developers.openai.com/api/reference/resources/embeddings, docs.cohere.com/reference/embed.

Purpose = Literal["document", "query"]
# The vectors of an answer with the position of each in the request.
Numbered = list[tuple[object, object]]


@dataclass(frozen=True, slots=True)
class Model:
    """A model with a known dimension; `adjustable` if a request may choose another one."""

    dimension: int
    adjustable: bool = True


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `dimension` is None if it must not be sent to the API."""

    model: str
    dimension: int | None
    purpose: Purpose
    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Provider:
    """What the engine needs to know about an API. `parse` may raise KeyError, TypeError or
    IndexError: the engine treats each as a response in the wrong format.
    """

    name: str
    path: str
    payload: Callable[[Ask], dict[str, object]]
    parse: Callable[[dict[str, Any]], Numbered]
    max_texts: int
    max_tokens: int
    base_url: str = ""
    default_model: str = ""
    models: Mapping[str, Model] = field(default_factory=dict)
    unknown_models_adjustable: bool = True
    max_text_tokens: int | None = None
    needs_key: bool = True


def _voyage_payload(ask: Ask) -> dict[str, object]:
    return {
        "input": list(ask.texts),
        "model": ask.model,
        "input_type": ask.purpose,
        "truncation": True,
    } | _optional_field("output_dimension", ask.dimension)


def _openai_payload(ask: Ask) -> dict[str, object]:
    return {
        "input": list(ask.texts),
        "model": ask.model,
        "encoding_format": "float",
    } | _optional_field("dimensions", ask.dimension)


def _compatible_payload(ask: Ask) -> dict[str, object]:
    return {"input": list(ask.texts), "model": ask.model}


def _cohere_payload(ask: Ask) -> dict[str, object]:
    return {
        "texts": list(ask.texts),
        "model": ask.model,
        "input_type": f"search_{ask.purpose}",
        "embedding_types": ["float"],
        "truncate": "END",
    } | _optional_field("output_dimension", ask.dimension)


def _optional_field(name: str, value: int | None) -> dict[str, object]:
    return {} if value is None else {name: value}


def _parse_data(answer: dict[str, Any]) -> Numbered:
    """Parse a response of OpenAI, Voyage or a compatible server: vectors with their positions."""
    return [(item["index"], item["embedding"]) for item in answer["data"]]


def _parse_cohere(answer: dict[str, Any]) -> Numbered:
    """Parse a response of Cohere: vectors in the order of the texts, without positions."""
    return list(enumerate(answer["embeddings"]["float"]))


# The limits on texts are below the APIs' (Voyage 1,000, OpenAI 2,048, Cohere 96): a response with
# 64 vectors is already about a megabyte of JSON, and parsing it blocks everything else.
VOYAGE: Final = Provider(
    name="voyage",
    base_url="https://api.voyageai.com/v1",
    path="/embeddings",
    payload=_voyage_payload,
    parse=_parse_data,
    max_texts=64,
    max_tokens=120_000,  # 320,000 for voyage-3.5, but 120,000 for others of the family
    default_model="voyage-3.5",
    models={
        "voyage-3.5": Model(1024),
        "voyage-3.5-lite": Model(1024),
        "voyage-3-large": Model(1024),
        "voyage-code-3": Model(1024),
    },
)
OPENAI: Final = Provider(
    name="openai",
    base_url="https://api.openai.com/v1",
    path="/embeddings",
    payload=_openai_payload,
    parse=_parse_data,
    max_texts=64,
    max_tokens=300_000,
    max_text_tokens=8_192,  # only this API refuses longer texts instead of truncating them
    default_model="text-embedding-3-small",
    models={
        "text-embedding-3-small": Model(1536),
        "text-embedding-3-large": Model(3072),
        "text-embedding-ada-002": Model(1536, adjustable=False),
    },
)
COHERE: Final = Provider(
    name="cohere",
    base_url="https://api.cohere.com/v2",
    path="/embed",
    payload=_cohere_payload,
    parse=_parse_cohere,
    max_texts=64,
    max_tokens=128_000,  # the reference gives no limit per request; this is the context of one text
    default_model="embed-v4.0",
    models={
        "embed-v4.0": Model(1536),
        "embed-english-v3.0": Model(1024, adjustable=False),
        "embed-multilingual-v3.0": Model(1024, adjustable=False),
        "embed-english-light-v3.0": Model(384, adjustable=False),
        "embed-multilingual-light-v3.0": Model(384, adjustable=False),
    },
)
# llama.cpp, Ollama, vLLM and others: the base URL ends in /v1. No dimension is sent: vLLM refuses
# the field, even with the right value, for models that do not support it.
COMPATIBLE: Final = Provider(
    name="compatible",
    path="/embeddings",
    payload=_compatible_payload,
    parse=_parse_data,
    max_texts=32,
    max_tokens=32_000,
    unknown_models_adjustable=False,
    needs_key=False,
)
PROVIDERS: Final[Mapping[str, Provider]] = {
    provider.name: provider for provider in (VOYAGE, OPENAI, COHERE, COMPATIBLE)
}


# In ordinary text a token has 2.5 to 4.5 bytes; assuming fewer keeps a request below a provider's
# limit without knowing its tokenizer.
BYTES_PER_TOKEN: Final = 2
FIRST_TEXTS: Final = 8
# A request with twice the texts must stay well below the time limit.
_QUICK_SHARE: Final = 0.25


class HostedEmbedder:
    """An embedder whose model runs behind `provider`'s API. Embedders of one account share its
    `retry_after`. Open it with `async with`.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        egress: Egress,
        key: str | None = None,
        model: str = "",
        dimension: int | None = None,
        base_url: str = "",
        revision: str = "",
        query_instruction: str = "",
        query_retries: RetryPolicy = QUERY_RETRIES,
        document_retries: RetryPolicy = DOCUMENT_RETRIES,
        retry_after: RetryAfter | None = None,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        key = (key or "").strip()
        self._api = HostedApi(
            "embedding service",
            (base_url or provider.base_url).rstrip("/"),
            provider.path,
            egress=egress,
            key=key,
            retry_after=retry_after,
            sleep=sleep,
            jitter=jitter,
        )
        _require_key(provider, key)
        self._provider = provider
        self._most_texts = min(FIRST_TEXTS, provider.max_texts)
        self._model = model or provider.default_model
        chosen = _model(provider, self._model, dimension)
        self._asked_dimension = chosen.dimension if chosen.adjustable else None
        self._space = Space(
            model=f"{provider.name}/{self._model}",
            revision=revision,
            dimension=chosen.dimension,
            query_instruction=query_instruction,
        )
        self._retries: dict[Purpose, RetryPolicy] = {
            "query": query_retries,
            "document": document_retries,
        }

    def __repr__(self) -> str:
        return f"HostedEmbedder({self._space.model!r} at {self._api.url})"

    @property
    def space(self) -> Space:
        return self._space

    @property
    def is_hosted(self) -> bool:
        return not self._api.is_here

    async def __aenter__(self) -> Self:
        await self._api.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._api.__aexit__()

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector of length 1 for each text; raise ModelUnavailable if any is missing."""
        vectors: list[list[float]] = []
        while len(vectors) < len(texts):
            vectors += await self._embed_first(texts[len(vectors) :])
        return vectors

    def at_once(self, texts: Sequence[str]) -> int:
        return len(self._first_request(texts))

    async def embed_query(self, text: str) -> list[float]:
        """Return the query's vector of length 1; raise ModelUnavailable without one in time."""
        request = self._first_request([self._space.query_instruction + text])
        (vector,) = await self._embed("query", request)
        return vector

    def _first_request(self, texts: Sequence[str]) -> list[str]:
        return first_request(texts, self._provider, self._most_texts)

    async def _embed_first(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed as many of the first texts as fit in one request; adapt the size of the next."""
        request = self._first_request(texts)
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            vectors = await self._embed("document", request)
        except ModelSlow:
            self._most_texts = max(1, len(request) // 2)
            raise
        is_quick = clock() - started <= self._retries["document"].request_seconds * _QUICK_SHARE
        if is_quick and len(request) >= self._most_texts:
            self._most_texts = min(2 * self._most_texts, self._provider.max_texts)
        return vectors

    async def _embed(self, purpose: Purpose, texts: Sequence[str]) -> list[list[float]]:
        ask = Ask(self._model, self._asked_dimension, purpose, texts)
        body = json.dumps(self._provider.payload(ask), ensure_ascii=False).encode()

        async def read(response: httpx.Response) -> list[list[float]] | Failure:
            answer = await response.aread()
            return refusal(response) or read_vectors(
                self._provider, answer, count=len(texts), dimension=self._space.dimension
            )

        return await self._api.ask(body, self._retries[purpose], read)


def first_request(texts: Sequence[str], provider: Provider, most: int) -> list[str]:
    """Return the first texts, as many as the provider accepts in one request and at most `most`. A
    text that is too long is sent alone.
    """
    request: list[str] = []
    room = provider.max_tokens
    for text in texts[:most]:
        cut, tokens = _to_sendable(text, provider.max_text_tokens)
        if request and tokens > room:
            break
        request.append(cut)
        room -= tokens
    return request


def _to_sendable(text: str, max_tokens: int | None) -> tuple[str, int]:
    """Return the text in a form that JSON and the API accept, and its approximate tokens."""
    encoded = text.encode("utf-8", "replace")
    if max_tokens is not None:
        encoded = encoded[: max_tokens * BYTES_PER_TOKEN]
    # Every API rejects an empty text, but any text may be a query; a space is as meaningless.
    return encoded.decode("utf-8", "ignore") or " ", len(encoded) // BYTES_PER_TOKEN + 1


def _require_key(provider: Provider, key: str) -> None:
    if key and not can_be_key(key):
        raise InvalidInput(
            f"The key for {provider.name} contains invalid characters.",
            field="key",
            remedy="Set the key again as the provider shows it, without quotes or line breaks.",
        )
    if provider.needs_key and not key:
        raise InvalidInput(
            f"{provider.name} needs a key.",
            field="key",
            remedy="Set the key that the provider gave you, or use a local model.",
        )


def _model(provider: Provider, name: str, dimension: int | None) -> Model:
    known = provider.models.get(name)
    if known is not None and dimension in (None, known.dimension):
        return known
    if not name or dimension is None or dimension < 1 or (known and not known.adjustable):
        raise InvalidInput(
            f"The model {name!r} of {provider.name} cannot be used with dimension {dimension}.",
            field="dimension",
            remedy="Use the model's own dimension, as the provider documents it.",
        )
    return Model(dimension, adjustable=provider.unknown_models_adjustable)
