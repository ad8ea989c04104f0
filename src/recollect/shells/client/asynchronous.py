"""Recollect for Python programs: `from recollect import Client`, or `AsyncClient`.

Each method is defined once, here, asynchronously; `blocking.py` derives the blocking one. Results
are values of `recollect.core` and errors are those of `recollect.core.errors`, whether the memory
is local or on a server.
"""

from __future__ import annotations

import os
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, Literal, Self, TypedDict, Unpack, cast
from uuid import UUID

from recollect.core.admin.stats import Stats
from recollect.core.admin.value_kinds import check_kinds_of
from recollect.core.curation.audit import KINDS as AUDIT_KINDS
from recollect.core.curation.audit import Finding, parse_kinds
from recollect.core.errors import InvalidInput
from recollect.core.memory.batch import Remembered
from recollect.core.memory.links import Link
from recollect.core.memory.listing import MAX_PAGE, Page
from recollect.core.memory.memory import (
    EVERYWHERE,
    FIELDS,
    Changes,
    Draft,
    Memory,
    Scope,
    several,
)
from recollect.core.memory.project import project_to_store_in, scope_here
from recollect.core.recall.explain import WhyReport
from recollect.core.recall.relevance import Measure
from recollect.core.recall.request import LegName, RecallRequest, Recollection, SortBy
from recollect.core.recall.settings import RecallSettings
from recollect.ports.service import Service
from recollect.settings import Settings, load
from recollect.shells.client.batches import Rememberable, async_batches, to_item
from recollect.usecases.agents.brief import Brief, brief
from recollect.usecases.agents.memory_tool import ToolAnswer, memory_tool

if TYPE_CHECKING:
    from recollect.shells.transfer.exporting import ExportFormat
    from recollect.shells.transfer.importing import Imported
    from recollect.usecases.memory.transfer import Taken

# The same number that a hook gives an agent at the start of a session.
BRIEF_TOKENS: Final = Measure().tokens
_PAGE: Final = 50


class Options(TypedDict, total=False):
    """The memory that a client works with. By default it follows the environment, like the command
    line. `home` is the folder of a local store, used without a server. `url` and `key` name a
    server, which is used directly unless `sync="on"` puts a local copy in front of it.
    """

    url: str
    key: str
    home: str | Path
    owner: str
    sync: Literal["on", "off"]


class NewFields(TypedDict, total=False):
    """The fields of a new memory besides its text, as in `Draft`."""

    category: str
    tags: list[str] | tuple[str, ...]
    expanded_keywords: list[str] | tuple[str, ...]
    importance: float
    is_sensitive: bool | None
    project: str | None
    session: str | None
    id: UUID | None
    links: tuple[Link, ...]
    valid_from: datetime | None
    valid_until: datetime | None


class RecallOptions(TypedDict, total=False):
    """Options of a recall besides the query, as in `RecallRequest`. `exclude` are memories already
    in the prompt; `weights` apply to this recall only; a sensitive query is not sent to a model on
    another machine; `as_of` recalls what was known at a time.
    """

    limit: int
    scope: Scope
    sort_by: SortBy
    expanded_query: str
    exclude: Collection[UUID]
    weights: Mapping[LegName, float] | None
    is_sensitive: bool
    as_of: datetime | None


class AsyncClient:
    """The client for programs with an event loop; use it in an `async with` block."""

    def __init__(self, **options: Unpack[Options]) -> None:
        self._settings = _settings(options)
        self._is_by_environment = not {"url", "home"} & options.keys()
        self._opening: AbstractAsyncContextManager[Service] | None = None
        self._opened: Service | None = None

    async def __aenter__(self) -> Self:
        from recollect.wiring.local import open_service

        opening = open_service(self._settings, syncing=True, actor="python")
        self._opened = await opening.__aenter__()
        self._opening = opening
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        opening, self._opening, self._opened = self._opening, None, None
        if opening is not None:
            await opening.__aexit__(kind, error, trace)

    async def remember(
        self, content: str, *, is_global: bool = False, **given: Unpack[NewFields]
    ) -> Memory:
        """Store a memory. With your own id (a UUIDv7), repeating the call is safe. A client that
        follows the environment stores it in the project of the folder, like the command line,
        unless it is global. It is recalled from `valid_from` until just before `valid_until`.
        """
        here = self._project_here()
        values = _check_fields({"content": content, **given}, (*Changes.__annotations__, "id"))
        named = project_to_store_in(given.get("project"), here, is_global=is_global)
        values["project"] = await self._resolve_project(named, here)
        return await self._recollect.remember(Draft(**values))

    async def remember_many(
        self,
        memories: Iterable[Rememberable] | AsyncIterable[Rememberable],
        *,
        on_batch: Callable[[Sequence[Remembered]], object] = lambda _: None,
    ) -> list[Remembered]:
        """Store many memories: texts, drafts, or the fields of `remember` as dicts. They are read
        from the iterable as they are stored, in batches of up to 500, each in one transaction, and
        `on_batch` is called with each batch's results. A memory that cannot be stored is refused,
        and the others are stored. With your own ids, repeating the call is safe.
        """
        results: list[Remembered] = []
        async for batch in async_batches(memories):
            stored = await self._recollect.remember_many([to_item(item) for item in batch])
            on_batch(stored)
            results += stored
        return results

    async def recall(self, query: str, **options: Unpack[RecallOptions]) -> Recollection:
        """Find the memories most useful for a query, best first, each with its reasons. Without a
        scope, a client that follows the environment searches the project of the folder and global
        memories, like the command line; `Scope()` searches everywhere.
        """
        return await self._recollect.recall(await self._request(query, options))

    async def why(
        self, reference: str | UUID, query: str, **options: Unpack[RecallOptions]
    ) -> WhyReport:
        """Explain why a memory is or is not recalled for a query, and what would change that; takes
        the same arguments as `recall`.
        """
        return await self._recollect.why(str(reference), await self._request(query, options))

    async def get(self, reference: str | UUID) -> Memory:
        """Return one memory, by its id or the end of it."""
        return await self._recollect.get(str(reference))

    async def page(
        self, scope: Scope | None = None, *, cursor: str | None = None, limit: int = _PAGE
    ) -> Page:
        """Return a page of memories, newest first; pass its `next_cursor` to get the next one. The
        default scope is that of `recall`.
        """
        check_kinds_of({"cursor": cursor, "limit": limit})
        return await self._recollect.page(await self._scope(scope), cursor, limit)

    async def iter_memories(self, scope: Scope | None = None) -> AsyncIterator[Memory]:
        """Iterate over the memories of a scope, newest first, holding one page at a time. The
        default scope is that of `recall`.
        """
        scope = await self._scope(scope)
        cursor: str | None = None
        while True:
            page = await self._recollect.page(scope, cursor, MAX_PAGE)
            for memory in page.memories:
                yield memory
            cursor = page.next_cursor
            if cursor is None:
                return

    async def update(
        self, reference: str | UUID, *, based_on: int | None = None, **changes: Unpack[Changes]
    ) -> Memory:
        """Change the given fields; with `based_on`, only if that version is current."""
        check_kinds_of({"based_on": based_on})
        checked = cast("Changes", _check_fields(changes, Changes.__annotations__))
        return await self._recollect.update(str(reference), checked, based_on=based_on)

    async def link(self, reference: str | UUID, kind: str, target: str | UUID) -> Memory:
        """Link a memory to another, for example as superseding it."""
        return await self._recollect.link(str(reference), kind, str(target))

    async def unlink(self, reference: str | UUID, kind: str, target: str | UUID) -> Memory:
        """Remove a link."""
        return await self._recollect.unlink(str(reference), kind, str(target))

    async def history(self, reference: str | UUID) -> list[Memory]:
        """Return the versions of a memory, newest first; the first is the current one."""
        return await self._recollect.history(str(reference))

    async def restore(self, reference: str | UUID, version: int) -> Memory:
        """Give a memory the fields of a former version, as a new version."""
        check_kinds_of({"version": version})
        return await self._recollect.restore(str(reference), version)

    async def forget(self, reference: str | UUID, *, forever: bool = False) -> UUID:
        """Hide a memory from recall and listings; `forever` erases it."""
        return await self._recollect.forget(str(reference), forever=forever)

    async def brief(
        self, project: str | None = None, *, budget_tokens: int = BRIEF_TOKENS
    ) -> Brief:
        """Return a project's most important and most recent memories, then global ones."""
        here = self._project_here()
        named = await self._resolve_project(here if project is None else project, here)
        scope = Scope(project=named, with_global=True)
        now = datetime.now(UTC)
        return await brief(self._recollect, scope, budget_tokens=budget_tokens, now=now)

    async def audit(self, *, kinds: Collection[str] = AUDIT_KINDS) -> list[Finding]:
        """Find duplicates, contradictions, stale or unused memories, and secrets. Changes nothing.
        A server used directly does not report which memories were never recalled.
        """
        from recollect.usecases.curation.audit import audit
        from recollect.wiring.transfer import open_audit

        if self._opened is None:
            raise not_open_error()
        owner, now = self._settings.owner, datetime.now(UTC)
        chosen = parse_kinds(several(kinds, "kinds"))
        async with open_audit(self._settings) as (memories, recalls):
            return await audit(memories, owner, now, kinds=chosen, recalls=recalls)

    async def export(
        self,
        file: str | Path | IO[bytes],
        *,
        scope: Scope = EVERYWHERE,
        format: ExportFormat = "jsonl",
        sensitive: bool = False,
        overwrite: bool = False,
    ) -> Taken:
        """Write the memories of a scope to a file, or to an open binary file, without sensitive
        ones unless requested. A file appears only when it is complete.
        """
        from recollect.shells.transfer.exporting import check_export_format, new_file, write_export

        recollect = self._recollect
        check_export_format(format)
        if not isinstance(file, str | Path):
            return await write_export(recollect, file, scope, format, sensitive=sensitive)
        with new_file(Path(file), force=overwrite) as out:
            return await write_export(recollect, out, scope, format, sensitive=sensitive)

    async def import_(
        self,
        *files: str | Path,
        format: str | None = None,
        project: str | None = None,
        dry_run: bool = False,
    ) -> Imported:
        """Import memories from files and folders: an export, or files of other programs. Unless
        `format` is given, it is detected. Importing a file again adds nothing.
        """
        from recollect.shells.transfer.importing import import_files
        from recollect.usecases.sync.offline_first import OfflineFirstService
        from recollect.wiring.transfer import open_transfer

        recollect = self._recollect
        paths = [Path(file) for file in files]
        async with open_transfer(self._settings) as transfer:
            done = await import_files(
                transfer, paths, format=format, project=project, dry_run=dry_run
            )
        if isinstance(recollect, OfflineFirstService):
            recollect.wake()
        return done

    async def stats(self) -> Stats:
        """Count what is stored."""
        return await self._recollect.stats()

    async def settings(self) -> RecallSettings:
        """Return how recall ranks."""
        return await self._recollect.settings()

    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings:
        """Change how recall ranks, for every process that uses the store."""
        return await self._recollect.change_settings(changes)

    async def memory_tool(
        self, command: Mapping[str, Any], *, project: str | None = None
    ) -> ToolAnswer:
        """Run one command of Anthropic's memory tool; see `MemoryTool`."""
        return await memory_tool(self._recollect, command, project=project)

    def _project_here(self) -> str | None:
        """Return the project of the folder, unless the program chose which memory to use."""
        if not self._is_by_environment:
            return None
        from recollect.wiring.project import current_project

        return current_project(Path.cwd(), os.environ)

    async def _resolve_project(self, name: str | None, here: str | None) -> str | None:
        return await self._recollect.resolve_project(name, here) if name and name.strip() else name

    async def _scope(self, scope: Scope | None) -> Scope:
        here = self._project_here()
        if scope is None:
            return scope_here(EVERYWHERE, here)
        check_kinds_of({"scope": scope})
        check_kinds_of(_values(scope))
        return replace(scope, project=await self._resolve_project(scope.project, here))

    async def _request(self, query: str, options: RecallOptions) -> RecallRequest:
        check_kinds_of({"query": query, **options})
        named: dict[str, Any] = dict(options)
        named["scope"] = await self._scope(options.get("scope"))
        named["exclude"] = frozenset(options.get("exclude", ()))
        named["weights"] = dict(options.get("weights") or {})
        return RecallRequest(query, **named)

    @property
    def _recollect(self) -> Service:
        if self._opened is None:
            raise not_open_error()
        return self._opened


def _settings(options: Options) -> Settings:
    """Override the environment's settings. A `home` without a `url` is used without a server."""
    named: dict[str, object] = dict(options)
    if "url" in named:
        named["api_url"] = named.pop("url")
        named.setdefault("sync", "off")
    elif "home" in named:
        named["api_url"] = None
    if "key" in named:
        named["api_key"] = named.pop("key")
    settings = load(**named)
    if options.get("key") and settings.api_url is None:
        raise InvalidInput(
            "a key was given without a server",
            field="url",
            remedy="Name the server: `Client(url=…, key=…)`. A local store needs no key.",
        )
    return settings


def _values(scope: Scope) -> dict[str, object]:
    return {field.name: getattr(scope, field.name) for field in fields(scope)}


def _check_fields(given: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Raise InvalidInput for an unknown field, which a server would never see, and for a single
    text where a list is expected.
    """
    for name in given:
        if name not in known:
            raise InvalidInput(
                f"{name[:60]!r} is not a field that can be given",
                field=name,
                remedy=f"Use one of: {', '.join(known)}.",
            )
    whole = {
        name: several(value, name) if FIELDS[name].kind == "texts" else value
        for name, value in given.items()
    }
    check_kinds_of(whole)
    return whole


def not_open_error() -> InvalidInput:
    return InvalidInput(
        "the client is not open",
        field="client",
        remedy="Use it inside `with Client() as memory:` or `async with AsyncClient() as memory:`.",
    )
