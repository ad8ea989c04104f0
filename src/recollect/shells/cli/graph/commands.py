"""The commands that show, correct and fill the concept graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from recollect.core.text.analysis import counted
from recollect.shells.cli.framework.commands import Argument, Group, Option
from recollect.shells.cli.framework.exit import Exit, ExitCode
from recollect.shells.cli.framework.options import AsJson, Start, owner_or_default, parse_moment
from recollect.shells.cli.framework.output import note, print_json, show
from recollect.shells.cli.framework.shell import ask_filled, run_async

if TYPE_CHECKING:
    from recollect.core.graph.model import Concept, GraphPath, GraphStats, Neighbourhood
    from recollect.ports.graph import Graph
    from recollect.usecases.graph.import_facts import Imported
    from recollect.wiring.local import Local
    from recollect.wiring.server import Server

Answer = TypeVar("Answer")

graph_app = Group(
    "Show and edit the concept graph: what memories mention, and how it is connected."
)

AsOf = Annotated[
    str | None,
    Option("--as-of", help="Show what was true at this time: 2026-01-31, or an age such as 30d."),
]
Name = Annotated[str, Argument(metavar="CONCEPT", help="A concept, named as in memories.")]


@graph_app.command("show")
def show_concept(
    name: Name,
    *,
    limit: Annotated[int, Option("--limit", help="Maximum number of each kind, 1 to 100.")] = 20,
    as_of: AsOf = None,
    history: Annotated[
        bool, Option("--history", help="Include what is no longer true or stated.")
    ] = False,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Show a concept and its neighbours."""

    async def look(graph: Graph) -> Neighbourhood:
        return await graph.show(name, limit=limit, as_of=_moment(as_of), history=history)

    found = _ask(look, start=start)
    if as_json:
        from recollect.wire.graph import NEIGHBOURHOOD

        print_json(NEIGHBOURHOOD.encode(found))
        return
    from recollect.shells.cli.render.graph import neighbourhood

    show(*neighbourhood(found))


@graph_app.command("path")
def path(
    source: Annotated[str, Argument(metavar="FROM", help="The concept to start from.")],
    target: Annotated[str, Argument(metavar="TO", help="The concept to reach.")],
    *,
    as_of: AsOf = None,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Show how two concepts connect, and which memories say so."""

    async def look(graph: Graph) -> GraphPath | None:
        return await graph.path(source, target, as_of=_moment(as_of))

    found = _ask(look, start=start)
    if as_json:
        from recollect.wire.graph import PATH

        print_json(PATH.encode(found))
        return
    from recollect.shells.cli.render.graph import path_lines

    show(*path_lines(found, source, target))


@graph_app.default
@graph_app.command("stats")
def stats(*, start: Start = False, as_json: AsJson = False) -> None:
    """Show the size of the graph."""

    async def look(graph: Graph) -> GraphStats:
        return await graph.stats()

    found = _ask(look, start=start)
    if as_json:
        from recollect.wire.graph import GRAPH_STATS

        print_json(GRAPH_STATS.encode(found))
        return
    from recollect.shells.cli.render.graph import stats_rows
    from recollect.shells.cli.render.tables import facts

    show(facts(stats_rows(found)))


@graph_app.command("merge")
def merge(
    into: Annotated[str, Argument(metavar="CONCEPT", help="The concept to keep.")],
    other: Annotated[str, Argument(metavar="OTHER", help="The concept to merge into it.")],
    *,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Merge two concepts into one, permanently."""

    async def edit(graph: Graph) -> Concept:
        return await graph.merge(into, other)

    _show_concept(_ask(edit, start=start), as_json=as_json)


@graph_app.command("split")
def split(
    concept: Name,
    alias: Annotated[str, Argument(metavar="ALIAS", help="The name that means something else.")],
    *,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Split one of a concept's names off into its own concept, permanently."""

    async def edit(graph: Graph) -> Concept:
        return await graph.split(concept, alias)

    _show_concept(_ask(edit, start=start), as_json=as_json)


@graph_app.command("build")
def build(
    *,
    again: Annotated[
        bool, Option("--again", help="Read every memory again; imported facts stay.")
    ] = False,
    retry: Annotated[
        bool, Option("--retry", help="Also retry what failed, even if it failed too often.")
    ] = False,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Extract concepts from all waiting memories of the store and compare new names."""
    from recollect.shells.cli.graph.build import build as build_graph

    counts = ask_filled(lambda server: build_graph(server, again=again, retry=retry), start=start)
    if as_json:
        print_json(counts)
        return
    text = f"read {counted(int(counts['read']), 'memory')} in {counts['seconds']} s"
    merged = f", {counted(int(counts['names']), 'new name')} ({counts['merged']} of known concepts)"
    failed = f"; {counted(int(counts['failed']), 'failed attempt')}" if counts["failed"] else ""
    later = f"; {counts['failing']} to be retried later" if counts["failing"] else ""
    show(text + (merged if counts["names"] else "") + failed + later)


@graph_app.command("import")
def import_file(
    file: Annotated[Path, Argument(metavar="FILE", help="File of JSON Lines; - reads stdin.")],
    *,
    owner: Annotated[
        str | None,
        Option("--owner", help="Owner of the memories (default: RECOLLECT_OWNER)."),
    ] = None,
    ids: Annotated[
        Path | None,
        Option(
            "--ids",
            help='JSON Lines of {"doc": NAME, "memory": ID} that map FILE\'s names to memories.',
        ),
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Check the file and change nothing.")
    ] = False,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Import ready-made facts into the graph of the store."""
    from recollect.shells.cli.graph.build import import_into, read_ids, read_lines

    lines = read_lines(file)
    known = None if ids is None else read_ids(ids)

    async def run(server: Server | Local) -> Imported:
        return await import_into(
            server, owner_or_default(owner, server.settings), lines, known, dry_run=dry_run
        )

    done = ask_filled(run, start=start)
    errors = [{"line": error.line, "reason": error.reason} for error in done.errors]
    fields = ("lines", "memories", "mentions", "facts", "left_out")
    counts = {name: getattr(done, name) for name in fields}
    if as_json:
        print_json({**counts, "errors": errors, "dry_run": dry_run})
    else:
        for error in done.errors:
            note(f"line {error.line}: {error.reason}")
        would = "would fill" if dry_run else "filled"
        less = f" ({done.left_out} left out)" if done.left_out else ""
        show(
            f"{would} {counted(done.memories, 'memory')}: {counted(done.mentions, 'mention')}, "
            f"{counted(done.facts, 'fact')}{less}"
        )
    if errors:
        raise Exit(ExitCode.INVALID)


def _ask(question: Callable[[Graph], Awaitable[Answer]], *, start: bool) -> Answer:
    from recollect.settings import load
    from recollect.wiring.local import open_remote_graph

    settings = load()
    if settings.api_url is None:
        return ask_filled(lambda store: question(store.graph_of(settings.owner)), start=start)

    async def run() -> Answer:
        async with open_remote_graph(settings) as graph:
            return await question(graph)

    return run_async(run())


def _moment(text: str | None) -> datetime | None:
    return None if text is None else parse_moment(text, "as-of", datetime.now(UTC))


def _show_concept(concept: Concept, *, as_json: bool) -> None:
    if as_json:
        from recollect.wire.graph import CONCEPT

        print_json(CONCEPT.encode(concept))
        return
    also = f", also called {', '.join(concept.aliases)}" if concept.aliases else ""
    show(f"{concept.name}{also}; mentioned by {counted(concept.mentions, 'memory')}")
