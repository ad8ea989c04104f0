"""Embeddings from another server: one engine for every provider.

What the providers have in common is everything that can go wrong, so it is handled once: the size
of requests and the order and size of answers here, the transport in hosted/api.py. How many texts a
server can handle in time is unknown: a small machine may take a second for each. So requests start
small, grow while they are answered quickly, and are halved when one times out.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from typing import Final, Self

import httpx

from recollect.adapters.models.embedders.hosted_answers import read_vectors
from recollect.adapters.models.embedders.hosted_providers import Ask, Model, Provider, Purpose
from recollect.adapters.models.hosted.api import HostedApi, Sleep, can_be_key, refusal
from recollect.adapters.models.hosted.failures import Failure
from recollect.core.errors import InvalidInput, ModelSlow
from recollect.core.privacy.egress import Egress
from recollect.core.recall.space import Space
from recollect.core.retry import (
    DOCUMENT_RETRIES,
    QUERY_RETRIES,
    RetryAfter,
    RetryPolicy,
)

# Tokenizers give 2.5 to 4.5 bytes of ordinary writing to a token; reckoning with fewer keeps a
# request below a provider's limit without knowing its tokenizer.
BYTES_PER_TOKEN: Final = 2
FIRST_TEXTS: Final = 8
# Twice the texts must stay well below the time limit.
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
        """A vector of length 1 for each text; ModelUnavailable if any is missing."""
        vectors: list[list[float]] = []
        while len(vectors) < len(texts):
            vectors += await self._embed_first(texts[len(vectors) :])
        return vectors

    def at_once(self, texts: Sequence[str]) -> int:
        return len(self._first_request(texts))

    async def embed_query(self, text: str) -> list[float]:
        """The query's vector of length 1; ModelUnavailable if it does not arrive in time."""
        request = self._first_request([self._space.query_instruction + text])
        (vector,) = await self._embed("query", request)
        return vector

    def _first_request(self, texts: Sequence[str]) -> list[str]:
        return first_request(texts, self._provider, self._most_texts)

    async def _embed_first(self, texts: Sequence[str]) -> list[list[float]]:
        """As many of the first texts as fit in one request, and how many the next may take."""
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
    """The first of the texts, as many as the provider accepts in one request and at most `most`; a
    text that is too long goes alone.
    """
    request: list[str] = []
    room = provider.max_tokens
    for text in texts[:most]:
        cut, tokens = _sendable(text, provider.max_text_tokens)
        if request and tokens > room:
            break
        request.append(cut)
        room -= tokens
    return request


def _sendable(text: str, max_tokens: int | None) -> tuple[str, int]:
    """The text in a form that JSON and the API accept, and its approximate tokens."""
    encoded = text.encode("utf-8", "replace")
    if max_tokens is not None:
        encoded = encoded[: max_tokens * BYTES_PER_TOKEN]
    # Every API rejects an empty text; any text may be a query, and a space means as little.
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
