"""A language model behind any OpenAI-compatible endpoint, here or elsewhere: asking it once.

What it is asked, and how far its answer is believed, is the affair of whoever asks: the concept
graph (readers/compatible.py) and capture (extractors.py). Whether text may go there is decided when
the model is made, so that no caller can forget to ask. Nothing of an answer, of a text or of the
key is quoted in an error.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

import httpx

from recollect.adapters.embedders.hosted_answers import LATER, Failure, read_status
from recollect.adapters.embedders.hosted_retries import Patience, retry_after, wait_before
from recollect.core.egress import Egress, is_loopback, require_allowed, require_private
from recollect.core.errors import InvalidInput, ModelUnavailable

MAX_ANSWER: Final = 1_000_000
"""Bytes of an answer that are read; the longest that is of use takes some ten thousand."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The text of an answer, empty where it had another form, and the tokens that it cost."""

    text: str = ""
    tokens: int = 0


class LanguageModel:
    """Open it with `async with`. `setting` begins the names of the variables that describe it."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        setting: str,
        egress: Egress,
        key: str | None,
        patience: Patience,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        base = url.strip().rstrip("/")
        require_allowed(base, egress)
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if key:
            if not (key.isascii() and key.isprintable() and " " not in key):
                raise InvalidInput(
                    f"{setting}_API_KEY has characters that no key has.",
                    field=f"{setting}_API_KEY",
                    remedy="Set the key again, without quotes or line breaks.",
                )
            require_private(base)
            self._headers["Authorization"] = f"Bearer {key}"
        self._url = f"{base}/chat/completions"
        self._setting = setting
        self._model = model
        self._patience = patience
        self._sleep = sleep
        self._jitter = jitter
        self._client: httpx.AsyncClient | None = None

    @property
    def name(self) -> str:
        return f"{self._model} at {self._url}"

    @property
    def is_here(self) -> bool:
        return is_loopback(self._url)

    async def __aenter__(self) -> Self:
        self._client = httpx.AsyncClient(
            headers=self._headers,
            timeout=None,  # noqa: S113  # each request is limited as a whole, see _attempt
            verify=self._url.startswith("https:"),
            follow_redirects=False,
            # A proxy named in the environment would carry text for this machine to another one.
            trust_env=not self.is_here,
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

    async def ask(
        self, task: str, text: str, *, schema: Mapping[str, object] | None = None
    ) -> Reply:
        """What it makes of a text, as a JSON schema if one is named; ModelUnavailable if nobody
        answered in time.
        """
        body = json.dumps(self._request(task, text, schema), ensure_ascii=False)
        data = body.encode("utf-8", "replace")
        clock = asyncio.get_running_loop().time
        give_up = clock() + self._patience.total_seconds
        attempt = 1
        while True:
            seconds = min(self._patience.request_seconds, give_up - clock())
            outcome = await self._attempt(data, seconds)
            if isinstance(outcome, bytes):
                return _reply(outcome)
            wait = wait_before(attempt, self._patience, self._jitter(), outcome.asked_wait)
            last = attempt == self._patience.attempts or clock() + wait >= give_up
            if last or not outcome.again:
                raise self._unavailable(outcome, attempt)
            await self._sleep(wait)
            attempt += 1

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

    async def _attempt(self, body: bytes, seconds: float) -> bytes | Failure:
        """One request. A failure is returned, not raised: an exception of the HTTP library holds
        the request, with its key and its texts.
        """
        if self._client is None:
            raise RuntimeError("A language model is used inside `async with`.")
        try:
            async with (
                asyncio.timeout(seconds),
                self._client.stream("POST", self._url, content=body) as response,
            ):
                asked = retry_after(response.headers.get("retry-after"), datetime.now(UTC))
                if (failure := read_status(response.status_code, asked)) is not None:
                    return failure
                answer = bytearray()
                async for part in response.aiter_bytes():
                    answer += part
                    if len(answer) > MAX_ANSWER:
                        return Failure("sent an answer without an end", self._check_server)
                return bytes(answer)
        except TimeoutError:
            return Failure(f"did not answer within {seconds:.1f} s", LATER, again=True)
        except httpx.RequestError as error:
            return Failure(f"could not be reached ({type(error).__name__})", LATER, again=True)

    @property
    def _check_server(self) -> str:
        return (
            f"Check that {self._setting}_URL is an OpenAI-compatible API whose model answers in"
            " JSON."
        )

    def _unavailable(self, failure: Failure, attempts: int) -> ModelUnavailable:
        tried = f" (tried {attempts} times)" if attempts > 1 else ""
        return ModelUnavailable(
            f"The language model at {self._url} {failure.reason}{tried}.", remedy=failure.remedy
        )


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
