"""Serve the local store like a server: for one person's web page, on this machine only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from recollect.adapters.in_memory_keys import InMemoryKeys
from recollect.adapters.sqlite.sync.store import SqliteSync
from recollect.core.errors import InvalidInput
from recollect.settings import Settings
from recollect.usecases.admin.keys import key_uses
from recollect.wiring.context import Progress, open_reranker
from recollect.wiring.local import (
    find_model,
    measure_open,
    open_local_on,
    open_recall_log,
    open_store,
)
from recollect.wiring.machine import machine_reader
from recollect.wiring.server import Server


@asynccontextmanager
async def open_local_server(
    settings: Settings, progress: Progress = lambda _step, _share: None
) -> AsyncIterator[Server]:
    """Open the local store with keys that are only in memory, so that they end with the process."""
    if not settings.has_local_store:
        raise InvalidInput(
            "the memories are on a server, and there is no local copy",
            field="RECOLLECT_API_URL",
            remedy=f"Open the server's own page: {settings.api_url}",
        )
    async with (
        open_store(settings) as store,
        open_reranker(settings) as reranker,
        open_recall_log(store) as shown,
        open_local_on(store, settings, find_model(settings), progress) as local,
        key_uses(keys := InMemoryKeys(), local.context.clock) as used,
    ):
        context = replace(local.context, reranker=reranker)
        status = None
        if settings.mode == "cached":
            sync = SqliteSync(
                store,
                settings.owner,
                context.clock,
                sensitive=settings.sync_sensitive,
                default_settings=context.default_settings,
            )
            context = replace(context, revisions=sync)
            status = sync.status
        if local.model is None:
            context = replace(context, queue=None, has_vector=None)
        yield Server(
            context,
            keys,
            None,
            context.clock,
            settings,
            f"local store {settings.sqlite_path}",
            local.graph,
            local.analysis,
            None if local.model is None else local.embedding,
            recall_log=shown,
            key_uses=used,
            prepare=None if local.model is None else local.load,
            machine=machine_reader(
                settings, "sqlite", partial(measure_open, store, settings), status
            ),
        )
