"""What `doctor` reports about the embedding model.

The store decides which model recall needs: that of its active space. RECOLLECT_EMBEDDER only names
the model of the first space.
"""

from __future__ import annotations

import asyncio

from recollect.core.admin.checks import Check
from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.errors import RecollectError
from recollect.settings import Settings


def check_embedder(settings: Settings, *, full: bool) -> Check:
    """Check that the model is available, without downloading anything or calling a service. The
    database is queried only with `--full`, since that may start the embedded one.
    """
    named = settings.embedder
    if named == NO_EMBEDDER:
        return Check("embedder", "ok", "none: memories are found by words only")
    from recollect.wiring.postgres import has_database

    if not has_database(settings):
        from recollect.wiring.local import find_needed_model

        return _check(settings, find_needed_model(settings))
    if not full:
        check = _check(settings, named)
        note = "--full checks whether recall needs this one"
        return Check("embedder", check.status, f"{check.detail}; {note}", check.remedy)
    active = asyncio.run(_read_active_model(settings)) or named
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


async def _read_active_model(settings: Settings) -> str | None:
    """Return the model of the active space, if there is one."""
    from recollect.wiring.server import open_server

    async with open_server(settings) as server:
        if server.embedding is None:
            return None
        spaces = await server.embedding.queue.spaces()
    return next((space.embedder for space in spaces if space.state == "active"), None)


def _check(settings: Settings, name: str) -> Check:
    from recollect.wiring.models import find_models

    found = next((found for found in find_models(settings) if found.model.name == name), None)
    if found is None:
        return asyncio.run(_check_opened(settings, name))
    model = found.model
    if found.is_built:
        return Check("embedder", "ok", f"{model.title} is built in {settings.models_folder}")
    if found.is_damaged:
        return Check(
            "embedder",
            "warn",
            f"{model.title} in {settings.models_folder} is damaged, or built by another version",
            f"Run `recollect models get {model.name}`, which builds it again.",
        )
    missing = f"{model.title} is not built yet ({found.download_mb} MB to download)"
    if model.at_first_use:
        return Check("embedder", "ok", f"{missing}; the first `recollect serve` builds it")
    return Check("embedder", "warn", missing, f"Run `recollect models get {model.name}`.")


async def _check_opened(settings: Settings, name: str) -> Check:
    from recollect.wiring.context import catalogue

    try:
        async with catalogue(settings, lambda _step, _share: None) as embedders:
            embedder = await embedders.embedder(name)
    except RecollectError as error:
        return Check("embedder", "fail", f"{name}: {error}", error.remedy)
    return Check("embedder", "ok", f"{name} writes {embedder.space.name}")
