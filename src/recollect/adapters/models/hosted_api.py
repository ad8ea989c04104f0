"""Call one endpoint of a hosted API, with timeouts and retries.

A failure is a value, because an exception of the HTTP library contains the request, with its key
and its texts. A reason never quotes the response either: servers often repeat what they received,
and a reason ends up in logs.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final, Literal, Self, TypeVar

import httpx

from recollect.core.errors import ModelBusy, ModelSlow, ModelUnavailable
from recollect.core.privacy.egress import Egress, is_loopback, require_allowed, require_private
from recollect.core.retry import (
    MAX_RETRY_AFTER,
    RetryAfter,
    RetryPolicy,
    is_retryable,
    parse_retry_after,
)

LATER: Final = "Try again later; recall continues with its other legs."
BUSY: Final = "Wait, or raise the rate limit or the quota of the key."
_REFUSED: Final = "Check the model, its dimension and the length of the texts."
_REMEDIES: Final[dict[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "Check the key: the service rejected it.",
    HTTPStatus.FORBIDDEN: "Check the key: it may not use this model.",
    HTTPStatus.NOT_FOUND: "Check the model name and the address.",
    HTTPStatus.TOO_MANY_REQUESTS: BUSY,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the call failed, what to do, and whether a retry can help."""

    reason: str
    remedy: str
    again: bool = False
    asked_wait: float | None = None
    kind: Literal["fault", "busy", "slow"] = "fault"


def read_status(status: int, asked_wait: float | None) -> Failure | None:
    """Return what went wrong according to the HTTP status, if anything."""
    if status == HTTPStatus.OK:
        return None
    again = is_retryable(status)
    if 300 <= status < 400:
        # A redirect could send the text to a machine that was not allowed.
        remedy = "Use the final address: redirects are not followed."
    else:
        remedy = _REMEDIES.get(status, LATER if again else _REFUSED)
    is_busy = status == HTTPStatus.TOO_MANY_REQUESTS or (again and asked_wait is not None)
    asks = f" and asks to wait {asked_wait:.0f} s" if again and asked_wait else ""
    return Failure(
        f"answered with status {status}{asks}",
        remedy,
        again,
        asked_wait if again else None,
        "busy" if is_busy else "fault",
    )


# Shared by embedders and language models. Everything that can go wrong in transport is handled
# here, once: timeouts, retries, redirects and proxies, and that no error shows a secret. Whether
# text may be sent to the endpoint at all is checked at creation, so that no caller can forget it.

# Characters allowed in a header. Checked here because HTTP libraries quote the value they reject.
_KEY: Final = re.compile(r"[\x21-\x7e]+")

Sleep = Callable[[float], Awaitable[None]]
Answer = TypeVar("Answer")


class HostedApi:
    """Calls one endpoint; `service` names it in errors. Callers with the same account share its
    `retry_after`. Open it with `async with`.
    """

    def __init__(
        self,
        service: str,
        base_url: str,
        path: str,
        *,
        egress: Egress,
        key: str | None,
        retry_after: RetryAfter | None = None,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        require_allowed(base_url, egress)
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if key:
            require_private(base_url)
            self._headers["Authorization"] = f"Bearer {key}"
        self._service = service
        self.url = base_url + path
        self._retry_after = retry_after or RetryAfter()
        self._sleep = sleep
        self._jitter = jitter
        self._client: httpx.AsyncClient | None = None

    @property
    def is_here(self) -> bool:
        return is_loopback(self.url)

    async def __aenter__(self) -> Self:
        self._client = httpx.AsyncClient(
            headers=self._headers,
            timeout=None,  # noqa: S113  # each request is limited as a whole, see `_attempt`
            # Certificates take 50 ms to load, and plain http does not need them.
            verify=self.url.startswith("https:"),
            follow_redirects=False,
            # A proxy from the environment would send text for this machine to another one.
            trust_env=not self.is_here,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def ask(
        self,
        body: bytes,
        retries: RetryPolicy,
        read: Callable[[httpx.Response], Awaitable[Answer | Failure]],
    ) -> Answer:
        """Return what `read` returns for the response. Raises ModelUnavailable when the limits are
        reached, and immediately while the service has asked to wait.
        """
        clock = asyncio.get_running_loop().time
        cancel = clock() + retries.total_seconds
        attempt = 1
        while True:
            self._raise_if_asked_to_wait(clock())
            seconds = min(retries.request_seconds, cancel - clock())
            outcome = await self._attempt(body, seconds, read)
            if not isinstance(outcome, Failure):
                return outcome
            if outcome.asked_wait is not None:
                self._retry_after.keep(outcome.asked_wait, clock())
            wait = retries.wait(attempt, self._jitter(), outcome.asked_wait)
            last = attempt == retries.attempts or clock() + wait >= cancel
            if last or not outcome.again:
                raise self._unavailable_error(outcome, attempt)
            await self._sleep(wait)
            attempt += 1

    async def _attempt(
        self,
        body: bytes,
        seconds: float,
        read: Callable[[httpx.Response], Awaitable[Answer | Failure]],
    ) -> Answer | Failure:
        """Send one request. A failure is returned, not raised: an exception of the HTTP library
        contains the request, with its key and its texts, and must not become the context of
        another.
        """
        if self._client is None:
            raise RuntimeError(f"The {self._service} is asked inside `async with`.")
        try:
            async with (
                asyncio.timeout(seconds),
                self._client.stream("POST", self.url, content=body) as response,
            ):
                return await read(response)
        except TimeoutError:
            reason = f"did not answer within {seconds:.1f} s"
            return Failure(reason, LATER, again=True, kind="slow")
        except httpx.RequestError as error:
            return Failure(f"could not be reached ({type(error).__name__})", LATER, again=True)

    def _unavailable_error(self, failure: Failure, attempts: int) -> ModelUnavailable:
        tried = f" (tried {attempts} times)" if attempts > 1 else ""
        text = f"The {self._service} at {self.url} {failure.reason}{tried}."
        if failure.kind == "busy":
            seconds = min(failure.asked_wait or 0.0, MAX_RETRY_AFTER)
            return ModelBusy(text, seconds=seconds, remedy=failure.remedy)
        if failure.kind == "slow":
            return ModelSlow(text, remedy=failure.remedy)
        return ModelUnavailable(text, remedy=failure.remedy)

    def _raise_if_asked_to_wait(self, now: float) -> None:
        left = self._retry_after.left(now)
        if left > 0.0:
            raise ModelBusy(
                f"The {self._service} at {self.url} asked to wait another {math.ceil(left)} s.",
                seconds=left,
                remedy=BUSY,
            )


def can_be_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None


def refusal(response: httpx.Response) -> Failure | None:
    """Return what went wrong according to the head of a response, if anything."""
    asked_wait = parse_retry_after(response.headers.get("retry-after"), datetime.now(UTC))
    return read_status(response.status_code, asked_wait)
