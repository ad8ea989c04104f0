"""What `doctor` reports about the embedding model.

On a server, the database decides which model recall needs: that of the active space.
RECOLLECT_EMBEDDER only names the model of the first space.
"""

from __future__ import annotations

import asyncio

from recollect.core.admin.checks import Check
from recollect.core.errors import RecollectError
from recollect.settings import Settings
from recollect.usecases.workers.embed import NO_EMBEDDER


def check_embedder(settings: Settings, *, full: bool) -> Check:
    """Whether the model is available; nothing is downloaded and no service is called. The database
    is queried only with `--full`, since that may start the embedded one.
    """
    named = settings.embedder
    if named == NO_EMBEDDER:
        return Check("embedder", "ok", "none: memories are found by words only")
    if not _is_server(settings):
        return _check(settings, named)
    if not full:
        check = _check(settings, named)
        note = "--full checks whether recall needs this one"
        return Check("embedder", check.status, f"{check.detail}; {note}", check.remedy)
    active = asyncio.run(_active(settings)) or named
    check = _check(settings, active)
    if active == named:
        return check
    remedy = (
        f"Set RECOLLECT_EMBEDDER={active}, or embed the memories again with `recollect "
        f"reembed --model {named}`."
    )
    return Check(
        "embedder",
        "warn" if check.status == "ok" else check.status,
        f"{check.detail}; recall needs this one, {active}, and RECOLLECT_EMBEDDER names {named}",
        f"{check.remedy} {remedy}".strip(),
    )


def _is_server(settings: Settings) -> bool:
    """Whether there is a server's database to query: the configured one, or that of this home."""
    from recollect.adapters.postgres.embedded.locations import has_cluster

    if settings.database_url is not None:
        return True
    return settings.api_url is None and has_cluster(settings.home, with_data=True)


async def _active(settings: Settings) -> str | None:
    """The model of the active space, if there is one."""
    from recollect.wiring import open_server

    async with open_server(settings) as server:
        if server.embedding is None:
            return None
        spaces = await server.embedding.queue.spaces()
    return next((space.embedder for space in spaces if space.state == "active"), None)


def _check(settings: Settings, name: str) -> Check:
    from recollect.adapters.models.embedders.local_cache import is_built
    from recollect.adapters.models.embedders.local_models import LOCAL_MODELS

    model = LOCAL_MODELS.get(name)
    if model is None:
        return asyncio.run(_check_made(settings, name))
    if is_built(model, settings.models_folder):
        return Check("embedder", "ok", f"{model.title} is built in {settings.models_folder}")
    found = f"{model.title} is not built yet ({model.download_size // 1_000_000} MB to download)"
    if model.at_first_use:
        return Check("embedder", "ok", f"{found}; the first `recollect serve` builds it")
    return Check("embedder", "warn", found, f"Run `recollect models get {model.name}`.")


async def _check_made(settings: Settings, name: str) -> Check:
    from recollect.wiring import catalogue

    try:
        async with catalogue(settings, lambda _step, _share: None) as embedders:
            embedder = await embedders.embedder(name)
    except RecollectError as error:
        return Check("embedder", "fail", f"{name}: {error}", error.remedy)
    return Check("embedder", "ok", f"{name} writes {embedder.space.name}")
