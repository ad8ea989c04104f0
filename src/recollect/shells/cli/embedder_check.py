"""What `doctor` says of the embedding model. On a server the database decides which one recall
needs: that of the active space. RECOLLECT_EMBEDDER only names the model of the first space.
"""

from __future__ import annotations

import asyncio

from recollect.core.admin.checks import Check
from recollect.core.errors import RecollectError
from recollect.settings import Settings
from recollect.usecases.workers.embed import NO_EMBEDDER


def check_embedder(settings: Settings, *, full: bool) -> Check:
    """Whether the model can be had; nothing is fetched and no service asked. The database is asked
    for its own only in a full examination, since that starts an embedded one.
    """
    named = settings.embedder
    if named == NO_EMBEDDER:
        return Check("embedder", "ok", "none: memories are found by words")
    from recollect.wiring.postgres import has_database

    if not has_database(settings):
        return _check(settings, named)
    if not full:
        one = _check(settings, named)
        note = "--full asks the database whether recall needs this one"
        return Check("embedder", one.status, f"{one.detail}; {note}", one.remedy)
    active = asyncio.run(_active(settings)) or named
    one = _check(settings, active)
    if active == named:
        return one
    remedy = (
        f"Set RECOLLECT_EMBEDDER={active}, or embed the memories anew with `recollect reembed "
        f"--model {named}`."
    )
    return Check(
        "embedder",
        "warn" if one.status == "ok" else one.status,
        f"{one.detail}; recall needs this one, {active}, and RECOLLECT_EMBEDDER names {named}",
        f"{one.remedy} {remedy}".strip(),
    )


async def _active(settings: Settings) -> str | None:
    """The model of the space that recall asks, when there is one."""
    from recollect.wiring import open_server

    async with open_server(settings) as server:
        if server.embedding is None:
            return None
        spaces = await server.embedding.queue.spaces()
    return next((one.embedder for one in spaces if one.state == "active"), None)


def _check(settings: Settings, name: str) -> Check:
    from recollect.wiring.models import find_models

    found = next((found for found in find_models(settings) if found.model.name == name), None)
    if found is None:
        return asyncio.run(_check_made(settings, name))
    model = found.model
    if found.is_built:
        return Check("embedder", "ok", f"{model.title} is built in {settings.models_folder}")
    missing = f"{model.title} is not built yet ({found.download_mb} MB to fetch)"
    if model.at_first_use:
        return Check("embedder", "ok", f"{missing}; the first `recollect serve` does it")
    return Check("embedder", "warn", missing, f"Run `recollect models get {model.name}`.")


async def _check_made(settings: Settings, name: str) -> Check:
    from recollect.wiring import catalogue

    try:
        async with catalogue(settings, lambda _step, _share: None) as embedders:
            embedder = await embedders.embedder(name)
    except RecollectError as error:
        return Check("embedder", "fail", f"{name}: {error}", error.remedy)
    return Check("embedder", "ok", f"{name} writes {embedder.space.name}")
