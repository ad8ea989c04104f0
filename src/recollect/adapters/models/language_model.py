"""Call a language model behind any OpenAI-compatible endpoint, local or remote.

What it is asked, and how far its answer is trusted, is up to the caller: the concept graph
(readers/compatible.py), capture and curation (asked.py). No error quotes an answer, a text or the
key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import httpx

from recollect.adapters.models.hosted.api import HostedApi, can_be_key, refusal
from recollect.adapters.models.hosted.failures import Failure
from recollect.core.errors import InvalidInput
from recollect.core.privacy.egress import Egress
from recollect.core.retry import RetryPolicy

MAX_ANSWER: Final = 1_000_000
"""Bytes of an answer that are read; the longest useful one takes some ten thousand."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The text of an answer, empty if it had another format, and its cost in tokens."""

    text: str = ""
    tokens: int = 0


class LanguageModel:
    """Open it with `async with`."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        egress: Egress,
        key: str | None,
        retries: RetryPolicy,
    ) -> None:
        self._api = HostedApi(
            "language model",
            url.strip().rstrip("/"),
            "/chat/completions",
            egress=egress,
            key=key,
        )
        if key and not can_be_key(key):
            raise InvalidInput(
                "RECOLLECT_LLM_API_KEY contains invalid characters.",
                field="RECOLLECT_LLM_API_KEY",
                remedy="Set the key again, without quotes or line breaks.",
            )
        self._model = model
        self._retries = retries

    @property
    def name(self) -> str:
        return f"{self._model} at {self._api.url}"

    @property
    def is_here(self) -> bool:
        return self._api.is_here

    async def __aenter__(self) -> Self:
        await self._api.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._api.__aexit__()

    async def ask(
        self, task: str, text: str, *, schema: Mapping[str, object] | None = None
    ) -> Reply:
        """The model's answer to a text, following a JSON schema if one is given; ModelUnavailable
        if there is none in time.
        """
        body = json.dumps(self._request(task, text, schema), ensure_ascii=False)
        answer = await self._api.ask(body.encode("utf-8", "replace"), self._retries, self._read)
        return _reply(answer)

    def _request(
        self, task: str, text: str, schema: Mapping[str, object] | None
    ) -> dict[str, object]:
        request: dict[str, object] = {
            "model": self._model,
            "temperature": 0,
            "messages": [
                {"role": "system", "content": task},
                {"role": "user", "content": text},
            ],
        }
        if schema is not None:
            named = {"name": "answer", "strict": True, "schema": schema}
            request["response_format"] = {"type": "json_schema", "json_schema": named}
        return request

    async def _read(self, response: httpx.Response) -> bytes | Failure:
        if (failure := refusal(response)) is not None:
            return failure
        answer = bytearray()
        async for part in response.aiter_bytes():
            answer += part
            if len(answer) > MAX_ANSWER:
                return Failure(
                    "sent an answer that does not end",
                    "Check that RECOLLECT_LLM_URL is an OpenAI-compatible API whose model"
                    " answers in JSON.",
                )
        return bytes(answer)


def _reply(body: bytes) -> Reply:
    try:
        answer = json.loads(body)
        text = answer["choices"][0]["message"]["content"]
        usage = answer.get("usage")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return Reply()
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    counted = tokens if isinstance(tokens, int) and 0 <= tokens < 10**9 else 0
    return Reply(text if isinstance(text, str) else "", counted)
