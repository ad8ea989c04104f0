"""Embeddings from another server: one engine for every provider.

What the providers have in common is everything that can go wrong, so it is handled once: batches,
time limits, retries, the order and size of what comes back, and that nothing secret shows in an
error. Whether text may go there at all is asked when the embedder is made, so that no caller can
forget to ask.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

import httpx

from recollect.adapters.embedders.hosted_answers import LATER, Failure, read_status, read_vectors
from recollect.adapters.embedders.hosted_providers import Ask, Model, Provider, Purpose
from recollect.adapters.embedders.hosted_retries import (
    DOCUMENT_PATIENCE,
    QUERY_PATIENCE,
    Patience,
    retry_after,
    wait_before,
)
from recollect.core.egress import Egress, is_loopback, require_allowed, require_private
from recollect.core.errors import InvalidInput, ModelUnavailable
from recollect.core.space import Space

# Tokenizers give 2.5 to 4.5 bytes of ordinary writing to a token; reckoning with fewer keeps a
# request below a provider's limit without knowing its tokenizer.
BYTES_PER_TOKEN: Final = 2
# What can stand in a header. Checked here because HTTP libraries quote the value they refuse.
_KEY: Final = re.compile(r"[\x21-\x7e]+")


class HostedEmbedder:
    """An embedder whose model runs behind `provider`'s API. Open it with `async with`."""

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
        query_patience: Patience = QUERY_PATIENCE,
        document_patience: Patience = DOCUMENT_PATIENCE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        base_url = (base_url or provider.base_url).rstrip("/")
        require_allowed(base_url, egress)
        self._headers = _headers(provider, key, base_url)
        self._provider = provider
        self._model = model or provider.default_model
        chosen = _model(provider, self._model, dimension)
        self._asked_dimension = chosen.dimension if chosen.adjustable else None
        self._url = base_url + provider.path
        self._space = Space(
            model=f"{provider.name}/{self._model}",
            revision=revision,
            dimension=chosen.dimension,
            query_instruction=query_instruction,
        )
        self._patience: dict[Purpose, Patience] = {
            "query": query_patience,
            "document": document_patience,
        }
        self._sleep = sleep
        self._jitter = jitter
        self._client: httpx.AsyncClient | None = None

    def __repr__(self) -> str:
        return f"HostedEmbedder({self._space.model!r} at {self._url})"

    @property
    def space(self) -> Space:
        return self._space

    @property
    def is_hosted(self) -> bool:
        return not is_loopback(self._url)

    async def __aenter__(self) -> Self:
        self._client = httpx.AsyncClient(
            headers=self._headers,
            timeout=None,  # noqa: S113  # each request is limited as a whole, see _attempt
            # Certificates take 50 ms to load, and plain http has no use for them.
            verify=self._url.startswith("https:"),
            follow_redirects=False,
            # A proxy named in the environment would carry text for this machine to another one.
            trust_env=not is_loopback(self._url),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector of length 1 for each text; ModelUnavailable when there is not one for each."""
        return [
            vector
            for batch in batches(texts, self._provider)
            for vector in await self._embed("document", batch)
        ]

    async def embed_query(self, text: str) -> list[float]:
        """The vector of length 1 to look for; ModelUnavailable when it cannot be had in time."""
        (batch,) = batches([self._space.query_instruction + text], self._provider)
        (vector,) = await self._embed("query", batch)
        return vector

    async def _embed(self, purpose: Purpose, texts: Sequence[str]) -> list[list[float]]:
        ask = Ask(self._model, self._asked_dimension, purpose, texts)
        body = json.dumps(self._provider.payload(ask), ensure_ascii=False).encode()
        patience = self._patience[purpose]
        clock = asyncio.get_running_loop().time
        give_up = clock() + patience.total_seconds
        attempt = 1
        while True:
            seconds = min(patience.request_seconds, give_up - clock())
            outcome = await self._attempt(body, len(texts), seconds)
            if not isinstance(outcome, Failure):
                return outcome
            wait = wait_before(attempt, patience, self._jitter(), outcome.asked_wait)
            last = attempt == patience.attempts or clock() + wait >= give_up
            if last or not outcome.again:
                raise self._unavailable(outcome, attempt)
            await self._sleep(wait)
            attempt += 1

    async def _attempt(
        self, body: bytes, count: int, seconds: float
    ) -> list[list[float]] | Failure:
        """One request. A failure is returned, not raised: an exception of the HTTP library holds
        the request, with its key and its texts, and must not become the context of another.
        """
        if self._client is None:
            raise RuntimeError("A hosted embedder is used inside `async with`.")
        try:
            async with asyncio.timeout(seconds):
                response = await self._client.post(self._url, content=body)
        except TimeoutError:
            return Failure(f"did not answer within {seconds:.1f} s", LATER, again=True)
        except httpx.RequestError as error:
            name = type(error).__name__
            return Failure(f"could not be reached ({name})", LATER, again=True)
        asked_wait = retry_after(response.headers.get("retry-after"), datetime.now(UTC))
        return read_status(response.status_code, asked_wait) or read_vectors(
            self._provider, response.content, count=count, dimension=self._space.dimension
        )

    def _unavailable(self, failure: Failure, attempts: int) -> ModelUnavailable:
        tried = f" (tried {attempts} times)" if attempts > 1 else ""
        return ModelUnavailable(
            f"The embedding service at {self._url} {failure.reason}{tried}.", remedy=failure.remedy
        )


def batches(texts: Sequence[str], provider: Provider) -> Iterator[list[str]]:
    """The texts in requests that the provider accepts; a text that is too long goes alone."""
    batch: list[str] = []
    room = provider.max_tokens
    for text in texts:
        cut, tokens = _sendable(text, provider.max_text_tokens)
        if batch and (len(batch) == provider.max_texts or tokens > room):
            yield batch
            batch, room = [], provider.max_tokens
        batch.append(cut)
        room -= tokens
    if batch:
        yield batch


def _sendable(text: str, max_tokens: int | None) -> tuple[str, int]:
    """The text as JSON can carry it and the API accepts it, and about how many tokens it is."""
    encoded = text.encode("utf-8", "replace")
    if max_tokens is not None:
        encoded = encoded[: max_tokens * BYTES_PER_TOKEN]
    # Every API refuses an empty text; any text may be asked for, and a space means as little.
    return encoded.decode("utf-8", "ignore") or " ", len(encoded) // BYTES_PER_TOKEN + 1


def _headers(provider: Provider, key: str | None, base_url: str) -> dict[str, str]:
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    key = (key or "").strip()
    if key and _KEY.fullmatch(key) is None:
        raise InvalidInput(
            f"The key for {provider.name} has characters that no key has.",
            field="key",
            remedy="Set the key again, as the provider shows it, without quotes or line breaks.",
        )
    if key:
        require_private(base_url)
        headers["Authorization"] = f"Bearer {key}"
    elif provider.needs_key:
        raise InvalidInput(
            f"{provider.name} needs a key.",
            field="key",
            remedy="Set the key that the provider gave you, or use the local model.",
        )
    return headers


def _model(provider: Provider, name: str, dimension: int | None) -> Model:
    known = provider.models.get(name)
    if known is not None and dimension in (None, known.dimension):
        return known
    if not name or dimension is None or dimension < 1 or (known and not known.adjustable):
        raise InvalidInput(
            f"The model {name!r} of {provider.name} cannot be used with dimension {dimension}.",
            field="dimension",
            remedy="Name the model and its own dimension, as the provider's page gives them.",
        )
    return Model(dimension, adjustable=provider.unknown_models_adjustable)
