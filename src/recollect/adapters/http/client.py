"""A client of a Recollect server over its REST API: the same port, the same errors.

Problems are raised as the errors they were on the server, so the user reads the same two texts,
what went wrong and what to do, wherever the memory is.

The classes of a response are imported by the method that needs them: building all of them takes
longer than a command with a single request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from random import random
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from uuid import UUID

import httpx
from pydantic import ValidationError

from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import InvalidInput, Overloaded, RecollectError, StoreUnavailable
from recollect.core.memory.ids import IdPart, short
from recollect.core.memory.links import KINDS, unknown_kind
from recollect.core.privacy.egress import (
    is_loopback,
    sensitive_query_error,
    unencrypted_key_error,
)
from recollect.core.retry import MAX_SERVER_ATTEMPTS, SERVER_BACKOFF, parse_retry_after
from recollect.wire.plain import CLIENT_HEADER, to_plain

if TYPE_CHECKING:
    from recollect.core.admin.stats import CurationCounts, Stats
    from recollect.core.curation.proposals import JournalEntry, Proposal, Survivor, Verdict
    from recollect.core.memory.batch import BatchItem, Remembered
    from recollect.core.memory.listing import Page
    from recollect.core.memory.memory import Changes, Draft, Memory, Scope
    from recollect.core.memory.project import Into, Renamed
    from recollect.core.privacy.erasure import ErasureReport
    from recollect.core.recall.explain import WhyReport
    from recollect.core.recall.request import RecallRequest, Recollection
    from recollect.core.recall.settings import RecallSettings, SettingChange
    from recollect.core.sync.model import ConflictReport, Keep
    from recollect.core.text.secret import Secret
    from recollect.wire.codec import Codec

_LAST_PORT: Final = 65535
# A server closes idle connections after five seconds; a request sent just then is lost.
_LIMITS: Final = httpx.Limits(keepalive_expiry=2.0)
_IS_IT_RUNNING: Final = "Start the server with `recollect serve`, and check RECOLLECT_API_URL."
# Requests that change nothing, or nothing more when they are repeated.
_REPEATABLE: Final = {"recall", "why", "sync/push"}
# Errors after which nothing has reached the server.
_UNSENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
)
# The leading slash keeps the part before the colon from being parsed as a URL scheme.
_BATCH: Final = "/memories:batch"
# A server accepts bodies of up to a megabyte.
_MAX_BYTES: Final = 900_000
Answer = TypeVar("Answer")
Sleep = Callable[[float], Awaitable[None]]


class RemoteService:
    """Implements the `Service` port over HTTP, for the owner of the key."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeouts: Timeouts = TIMEOUTS,
        sleep: Sleep = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
        client: str = "api",
    ) -> None:
        address = url.strip().rstrip("/")
        self._url = _check_url(address)
        self._sleep = sleep
        self._short = httpx.Timeout(timeouts.short_request, connect=timeouts.connect)
        # Whether the server is on this machine, so that nothing leaves it. Only the address is
        # known: a tunnel that listens there cannot be distinguished from the server.
        self.is_here = is_loopback(address)
        self._client = httpx.AsyncClient(
            base_url=f"{self._url}/api/v1/",
            headers={"Authorization": f"Bearer {_check_key(key)}", CLIENT_HEADER: client},
            timeout=httpx.Timeout(timeouts.request, connect=timeouts.connect),
            limits=_LIMITS,
            # Certificates take 50 ms to load, and plain http does not need them.
            verify=self._url.scheme == "https",
            # A redirect could carry the key to another machine.
            follow_redirects=False,
            # Proxies from the environment are for other machines, and would see the key.
            trust_env=not self.is_here,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def remember(self, draft: Draft) -> Memory:
        from recollect.core.privacy.sensitive import secret_in_draft
        from recollect.wire.memory import WRITTEN

        self._refuse_sensitive(is_sensitive=draft.is_sensitive, secret=secret_in_draft(draft))
        return (await self.ask(WRITTEN, "POST", "memories", body=to_plain(draft))).memory

    async def remember_many(self, batch: Sequence[BatchItem]) -> list[Remembered]:
        from recollect.core.memory.batch import Remembered, check_batch_size
        from recollect.wire.memory import BATCH

        check_batch_size(batch)
        results: dict[int, Remembered] = {}
        sent: list[tuple[int, Draft]] = []
        for place, item in enumerate(batch):
            try:
                sent.append((place, self._to_sendable(item)))
            except InvalidInput as error:
                id = None if isinstance(item, InvalidInput) else item.id
                results[place] = Remembered(id, "refused", error)
        for part in _requests(sent):
            body = {"memories": [values for _, values in part]}
            answer = await self.ask(BATCH, "POST", _BATCH, body=body)
            for (place, _), result in zip(part, answer.results, strict=True):
                results[place] = result
        return [results[place] for place in range(len(batch))]

    async def recall(self, request: RecallRequest) -> Recollection:
        from recollect.wire.recall import RECOLLECTION

        self._check_may_leave(request)
        body = {**to_plain(request), "explain": True}
        return await self.ask(RECOLLECTION, "POST", "recall", body=body)

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        from recollect.wire.why import WHY

        self._check_may_leave(request)
        body = {**to_plain(request), "id": IdPart.parse(reference).text}
        return await self.ask(WHY, "POST", "why", body=body)

    async def get(self, reference: str) -> Memory:
        from recollect.wire.memory import MEMORY

        return await self.ask(MEMORY, "GET", _path(reference), is_short=True)

    async def short_ids(self, ids: Collection[UUID]) -> dict[UUID, str]:
        """Longer than in a local store: what else the server has is not known here."""
        return {id: short(id) for id in ids}

    async def page(self, scope: Scope, cursor: str | None, limit: int) -> Page:
        from recollect.core.memory.listing import check_page_size
        from recollect.core.memory.memory import clean_scope
        from recollect.wire.memory import PAGE

        check_page_size(limit)
        query = {**to_plain(clean_scope(scope)), "limit": limit}
        if cursor:
            query["cursor"] = cursor
        return await self.ask(PAGE, "GET", "memories", query=query, is_short=True)

    async def update(
        self, reference: str, changes: Changes, *, based_on: int | None = None
    ) -> Memory:
        from recollect.core.privacy.sensitive import TEXT_FIELDS, secret_in_changes
        from recollect.wire.memory import MEMORY

        if not self.is_here:
            has_text = not changes.keys().isdisjoint(TEXT_FIELDS)
            is_sensitive = changes.get("is_sensitive")
            self._refuse_sensitive(
                is_sensitive=is_sensitive if has_text else None, secret=secret_in_changes(changes)
            )
            if has_text and is_sensitive is None:
                # A sensitive memory stays sensitive with its new text.
                self._refuse_sensitive(
                    is_sensitive=(await self.get(reference)).is_sensitive, secret=None
                )
        body = {**to_plain(changes), "based_on": based_on}
        return await self.ask(MEMORY, "PATCH", _path(reference), body=body)

    async def link(self, reference: str, kind: str, target: str) -> Memory:
        from recollect.wire.memory import MEMORY

        path = _link_path(reference, kind, target)
        return await self.ask(MEMORY, "PUT", path)

    async def unlink(self, reference: str, kind: str, target: str) -> Memory:
        from recollect.wire.memory import MEMORY

        path = _link_path(reference, kind, target)
        return await self.ask(MEMORY, "DELETE", path)

    async def history(self, reference: str) -> list[Memory]:
        from recollect.wire.memory import HISTORY

        return await self.ask(HISTORY, "GET", f"{_path(reference)}/versions", is_short=True)

    async def restore(self, reference: str, version: int) -> Memory:
        from recollect.wire.memory import MEMORY

        path = f"{_path(reference)}/versions/{version}/restore"
        return await self.ask(MEMORY, "POST", path)

    async def forget(self, reference: str, *, forever: bool = False) -> UUID:
        from recollect.wire.memory import FORGOTTEN

        query = {"forever": forever}
        return (await self.ask(FORGOTTEN, "DELETE", _path(reference), query=query)).id

    async def resolve_project(self, name: str, here: str | None = None) -> str:
        from recollect.core.memory.project import is_whole, resolve_project

        if is_whole(name) or name == here:
            return name  # the server knows whether it is a former name
        stats = await self.stats()
        return resolve_project(name.strip(), stats.by_project, here, stats.former_names)

    async def rename_project(self, project: str, name: str, into: Into = "any") -> Renamed:
        from recollect.wire.admin import RENAMED

        body = {"project": project, "name": name, "into": into}
        return await self.ask(RENAMED, "POST", "projects/rename", body=body)

    async def stats(self) -> Stats:
        from recollect.wire.stats import STATS

        return await self.ask(STATS, "GET", "stats", is_short=True)

    async def settings(self) -> RecallSettings:
        from recollect.wire.admin import SERVER_SETTINGS

        return await self.ask(SERVER_SETTINGS, "GET", "settings", is_short=True)

    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings:
        from recollect.core.recall.settings import RecallSettings
        from recollect.wire.admin import SERVER_SETTINGS

        # Checked here as well: values from a command line are text, and JSON needs numbers.
        checked = RecallSettings().changed(changes).as_dict()
        body = {name: value for name, value in checked.items() if name in changes}
        return await self.ask(SERVER_SETTINGS, "PATCH", "settings", body=body, is_short=True)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        from recollect.core.recall.settings import check_log_limit
        from recollect.wire.admin import SETTINGS_LOG

        check_log_limit(limit)
        query = {"limit": limit}
        return await self.ask(SETTINGS_LOG, "GET", "settings/audit", query=query, is_short=True)

    async def conflicts(self) -> list[ConflictReport]:
        from recollect.wire.sync import CONFLICTS

        return await self.ask(CONFLICTS, "GET", "conflicts", is_short=True)

    async def resolve(self, reference: str, keep: Keep) -> ConflictReport:
        from recollect.wire.sync import CONFLICT

        path = f"conflicts/{IdPart.parse(reference).text}/resolve"
        return await self.ask(CONFLICT, "POST", path, body={"keep": keep})

    async def proposals(self) -> list[Proposal]:
        from recollect.wire.curation import PROPOSALS

        return await self.ask(PROPOSALS, "GET", "proposals", is_short=True)

    async def accept_proposal(self, reference: str, keep: Survivor = "newer") -> JournalEntry:
        from recollect.wire.curation import JOURNAL_ENTRY

        path = f"proposals/{IdPart.parse(reference).text}/accept"
        return await self.ask(JOURNAL_ENTRY, "POST", path, body={"keep": keep})

    async def decide_proposal(self, reference: str, verdict: Verdict) -> Proposal:
        from recollect.wire.curation import PROPOSAL

        step = "reject" if verdict == "rejected" else "later"
        path = f"proposals/{IdPart.parse(reference).text}/{step}"
        return await self.ask(PROPOSAL, "POST", path)

    async def curation_counts(self) -> CurationCounts | None:
        return (await self.stats()).curation

    async def journal(self, limit: int = 20) -> list[JournalEntry]:
        from recollect.wire.curation import JOURNAL

        return await self.ask(JOURNAL, "GET", "journal", query={"limit": limit}, is_short=True)

    async def undo(self, reference: str | None = None) -> JournalEntry:
        from recollect.wire.curation import JOURNAL_ENTRY

        body = {} if reference is None else {"id": reference}
        return await self.ask(JOURNAL_ENTRY, "POST", "undo", body=body)

    async def erase_owner(self, owner: str) -> ErasureReport:
        """Erase all that the key's owner has on the server; the owner must be named."""
        from recollect.wire.admin import ERASED

        return await self.ask(ERASED, "POST", "erase", body={"owner": owner})

    def _to_sendable(self, item: BatchItem) -> Draft:
        if isinstance(item, InvalidInput):
            raise item
        if not self.is_here:
            from recollect.core.privacy.sensitive import secret_in_draft

            self._refuse_sensitive(is_sensitive=item.is_sensitive, secret=secret_in_draft(item))
        return item

    def _check_may_leave(self, request: RecallRequest) -> None:
        if not self.is_here and request.must_stay:
            raise sensitive_query_error(is_declared=request.is_sensitive)

    def _refuse_sensitive(self, *, is_sensitive: bool | None, secret: Secret | None) -> None:
        """Refuse to send what is sensitive: declared so, or because its text has a secret."""
        if self.is_here or not (is_sensitive or secret):
            return
        if secret is None:
            why, overrule = "a sensitive memory stays on this machine", ""
        else:
            why = f"a text that looks like a secret ({secret.kind}) stays on this machine"
            overrule = " If it is not a secret, pass --not-sensitive, or is_sensitive: false."
        raise InvalidInput(
            f"{why}, and the server is on another",
            field="is_sensitive",
            remedy=f"Unset RECOLLECT_API_URL to keep it in the local store.{overrule}",
        )

    async def ask(
        self,
        codec: Codec[Answer],
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, object] | None = None,
        is_short: bool = False,
    ) -> Answer:
        """Send one API request, also for the adapters built on this client. `is_short`: the server
        runs no model and reads little.
        """
        timeout = self._short if is_short else self._client.timeout
        headers = {} if body is None else {"Content-Type": "application/json"}
        waited, attempt = 0.0, 1
        while True:
            try:
                response = await self._client.request(
                    method,
                    path,
                    params=query,
                    content=_json(body),
                    headers=headers,
                    timeout=timeout,
                )
            except httpx.TransportError as error:
                is_change = method != "GET" and path not in _REPEATABLE
                raise self._transport_error(error, is_change=is_change) from error
            if response.is_success:
                break
            refused = self._error(response)
            # An overloaded server has done nothing yet, so any request may be repeated.
            seconds = _retry_pause(refused, response, attempt, random())  # noqa: S311  # a jitter
            if (
                seconds is None
                or waited + seconds > SERVER_BACKOFF.longest
                or attempt == MAX_SERVER_ATTEMPTS
            ):
                raise refused
            await self._sleep(seconds)
            waited, attempt = waited + seconds, attempt + 1
        try:
            return codec.decode(response.content)
        except ValidationError as error:
            raise self._not_recollect_error(response) from error

    def _transport_error(self, error: httpx.TransportError, *, is_change: bool) -> StoreUnavailable:
        if isinstance(error, httpx.TimeoutException):
            what = f"the server at {self._url} did not answer in time"
            remedy = "Try again; if it stays slow, see `recollect doctor` on the server."
        else:
            what = f"the server at {self._url} cannot be reached ({type(error).__name__})"
            remedy = _IS_IT_RUNNING
        if is_change and not isinstance(error, _UNSENT):
            what += "; the change may have been applied anyway"
            remedy = f"Check whether it was applied. If not: {remedy}"
        return StoreUnavailable(what, remedy=remedy)

    def _error(self, response: httpx.Response) -> RecollectError:
        from recollect.wire.problems import Problem

        try:
            return Problem.model_validate_json(response.content).to_error()
        except ValidationError:
            return self._not_recollect_error(response)

    def _not_recollect_error(self, response: httpx.Response) -> StoreUnavailable:
        return StoreUnavailable(
            f"the server at {self._url} (status {response.status_code}) is not a Recollect API",
            remedy="Check RECOLLECT_API_URL and any proxy in between.",
        )


def _retry_pause(
    error: RecollectError, response: httpx.Response, attempt: int, share: float
) -> float | None:
    """Return how long to wait before asking an overloaded server again: at least as long as it
    asks for. None for any other error.
    """
    if not isinstance(error, Overloaded):
        return None
    asked = parse_retry_after(response.headers.get("Retry-After"), datetime.now(UTC)) or 0.0
    return asked + SERVER_BACKOFF.wait(attempt, share)


def _path(reference: str) -> str:
    """Check a reference before it becomes part of a URL: an id has only digits and hyphens."""
    return f"memories/{IdPart.parse(reference).text}"


def _link_path(reference: str, kind: str, target: str) -> str:
    if kind not in KINDS:
        raise unknown_kind(kind)
    return f"{_path(reference)}/links/{kind}/{IdPart.parse(target).text}"


def _requests(
    drafts: Iterable[tuple[int, Draft]],
) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """Split drafts, as JSON values with their positions, into requests that a server accepts."""
    part: list[tuple[int, dict[str, Any]]] = []
    size = 0
    for place, draft in drafts:
        values = to_plain(draft)
        length = len(_json(values) or b"")
        if part and size + length > _MAX_BYTES:
            yield part
            part, size = [], 0
        part.append((place, values))
        size += length + 2
    if part:
        yield part


def _json(body: Mapping[str, object] | None) -> bytes | None:
    """Encode as ASCII JSON, which also carries invalid text, so that the server can refuse it."""
    return None if body is None else json.dumps(body, default=str).encode("ascii")


# URLs that a server prints next to its own, and that are easily mistaken for it.
_PARTS: Final = ("/api/v1", "/api/v1/docs", "/api/v1/openapi.json", "/mcp")


def _check_url(address: str) -> httpx.URL:
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise _url_error("is not a URL") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise _url_error("is not a URL that begins with http:// or https://")
    if any(mark in address for mark in "@?#"):
        raise _url_error("has a user name, query or fragment")
    if url.path.endswith(_PARTS):
        raise _url_error("is the address of one part of a server, not the server's own")
    if url.port is not None and not 0 < url.port <= _LAST_PORT:
        raise _url_error(f"names port {url.port}, which no server can have")
    # The text as given: httpx normalizes it, and might read a different host from it.
    if url.scheme == "http" and not is_loopback(address):
        raise unencrypted_key_error()
    return url


def _url_error(why: str) -> InvalidInput:
    return InvalidInput(
        f"RECOLLECT_API_URL {why}",
        field="RECOLLECT_API_URL",
        remedy="Give the address that `recollect serve` printed, such as http://127.0.0.1:8420.",
    )


def _check_key(key: str) -> str:
    tidy = key.strip()
    if not tidy.isascii() or not tidy.isprintable() or " " in tidy or not tidy:
        raise InvalidInput(
            "RECOLLECT_API_KEY holds characters that no key has",
            field="RECOLLECT_API_KEY",
            remedy="Copy the key again: it begins with rk_ and has no spaces.",
        )
    return tidy
