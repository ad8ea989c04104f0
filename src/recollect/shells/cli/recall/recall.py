"""The commands that find memories for a query: recall and why."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, get_args
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Scope
from recollect.core.recall.request import (
    LEGS,
    MAX_LIMIT,
    Hit,
    LegName,
    RecallRequest,
    Recollection,
    SortBy,
)
from recollect.shells.cli.framework.commands import Argument, Option, option_group
from recollect.shells.cli.framework.options import (
    AsJson,
    describe_scope,
    parse_full_id,
    parse_moment,
    report_scope,
    resolve_project,
    scope_of_folder,
    suggest_everywhere,
)
from recollect.shells.cli.framework.output import note, print_json, show
from recollect.shells.cli.framework.shell import ask

if TYPE_CHECKING:
    from recollect.core.recall.explain import WhyReport
    from recollect.ports.service import Service
    from recollect.settings import Settings

_STDIN = "-"
_MAX_STDIN_BYTES = 1_000_000

AsOf = Annotated[
    str | None,
    Option("--as-of", help="Recall what was known at this time; same formats as --since."),
]
Limit = Annotated[int, Option("--limit", help=f"Maximum number of hits, 1 to {MAX_LIMIT}.")]
SortedBy = Annotated[
    str, Option("--sort-by", help=f"Order of the hits: {', '.join(get_args(SortBy))}.")
]
Exclude = Annotated[
    list[str] | None,
    Option("--exclude", help="Full id of a memory to leave out; repeatable."),
]
Weights = Annotated[
    list[str] | None,
    Option("--weight", help="Weight of a leg for this recall as LEG=NUMBER, 0 to 5; repeatable."),
]
Expanded = Annotated[str, Option("--expanded", help="Extra words for the lexical leg to search.")]
NoDense = Annotated[
    bool,
    Option(
        "--no-dense", help="Recall from the local store by words only, without loading a model."
    ),
]
SensitiveQuery = Annotated[
    bool,
    Option("--sensitive", help="Do not send the query to a model on another machine."),
]


@option_group(where=scope_of_folder)
def _parse_options(
    *,
    limit: Limit = 10,
    sort_by: SortedBy = "relevance",
    where: Scope,
    exclude: Exclude = None,
    weight: Weights = None,
    expanded: Expanded = "",
    sensitive: SensitiveQuery = False,
    as_of: AsOf = None,
) -> dict[str, Any]:
    """Return the fields of a request that the options set."""
    return {
        "expanded_query": expanded,
        "limit": limit,
        "sort_by": sort_by,
        "scope": where,
        "exclude": frozenset(parse_full_id(text, "exclude") for text in exclude or ()),
        "weights": _parse_weights(weight),
        "is_sensitive": sensitive,
        "as_of": _parse_as_of(as_of),
    }


@option_group(options=_parse_options)
def recall(
    query: Annotated[
        str, Argument(metavar="QUERY", help="The query, any text; - reads it from stdin.")
    ],
    *,
    options: dict[str, Any],
    explain: Annotated[bool, Option("--explain", help="Explain why each hit is there.")] = False,
    no_dense: NoDense = False,
    as_json: AsJson = False,
) -> None:
    """Find the memories most useful for a query, best first."""
    from recollect.settings import load

    settings, text = load(), _read_query(query)

    async def find(recollect: Service) -> tuple[Recollection, dict[UUID, str]]:
        found = await recollect.recall(await _make_request(recollect, text, options))
        shown = [] if as_json else [id for hit in found.hits for id in _ids_of(hit)]
        return found, await recollect.short_ids(shown)

    by_meaning = not no_dense
    found, ids = ask(find, by_meaning=by_meaning, catching_up=by_meaning, settings=settings)
    if as_json:
        from recollect.wire.recall import to_shape

        print_json(to_shape(found, explain=explain))
    else:
        _show_hits(found, ids, settings, explain=explain)


@option_group(options=_parse_options)
def why(
    id: Annotated[str, Argument(metavar="ID", help="The memory's id, or the end of it.")],
    *,
    query: Annotated[
        str, Option("--query", help="The query it should match; - reads it from stdin.")
    ],
    options: dict[str, Any],
    no_dense: NoDense = False,
    as_json: AsJson = False,
) -> None:
    """Explain why a memory is or is not recalled for a query, and what would change that."""
    text = _read_query(query)

    async def explain(recollect: Service) -> WhyReport:
        return await recollect.why(id, await _make_request(recollect, text, options))

    report = ask(explain, by_meaning=not no_dense, catching_up=not no_dense)
    if as_json:
        from recollect.wire.why import WHY

        print_json(WHY.to_shape(report))
    else:
        from recollect.shells.cli.render.why import why as render_why

        show(render_why(report))
        if report.note:
            note(report.note)


def _parse_as_of(text: str | None) -> datetime | None:
    return parse_moment(text, "as-of", datetime.now(UTC)) if text else None


def _parse_weights(texts: list[str] | None) -> dict[LegName, float]:
    """Parse weights such as `lexical=1`."""
    weights: dict[LegName, float] = {}
    for text in texts or ():
        name, _, number = text.partition("=")
        try:
            if name not in LEGS:
                raise ValueError(name)  # noqa: TRY301  # both errors have the same remedy
            weights[name] = float(number)
        except ValueError as error:
            raise InvalidInput(
                f"{text[:60]!r} is not a valid weight",
                field="weight",
                remedy=f"Write --weight LEG=NUMBER, where LEG is one of: {', '.join(LEGS)}.",
            ) from error
    return weights


def _ids_of(hit: Hit) -> Iterator[UUID]:
    """Yield every id that is shown with a hit."""
    yield hit.memory.id
    yield from hit.stands_for
    if hit.newer_than is not None:
        yield hit.newer_than.id
    yield from (memory.id for memory in hit.attached)
    yield from (pointer.target for pointer in hit.pointers)


def _show_hits(
    found: Recollection, ids: Mapping[UUID, str], settings: Settings, *, explain: bool
) -> None:
    if not found.hits:
        note(f"nothing found{describe_scope(found.scope)}{suggest_everywhere(found.scope)}")
    if found.hits or explain:
        from recollect.shells.cli.render.tables import hits, legs

        show(
            *([hits(found, ids, explain=explain)] if found.hits else []),
            *([legs(found)] if explain else []),
        )
    if found.is_weak:
        note("no memory is clearly about this; these are the nearest")
    if found.hits:
        report_scope(found.scope)
    if found.note:
        note(found.note)
    if found.hint:
        from recollect.wiring.local import open_shown_hints

        today = datetime.now(UTC).date().isoformat()
        if open_shown_hints(settings).note(found.hint, today):
            note(found.hint)
    for leg in found.degraded if not found.note else ():
        note(f"the {leg} leg did not answer ({found.legs[leg].status}); hits may be missing")
    if found.rerank is not None and found.rerank.is_missing:
        note(f"the hits were not reranked: {found.rerank.note}")


async def _make_request(
    recollect: Service, query: str, options: Mapping[str, Any]
) -> RecallRequest:
    scope: Scope = options["scope"]
    project = await resolve_project(recollect, scope.project)
    return RecallRequest(query, **{**options, "scope": replace(scope, project=project)})


def _read_query(text: str) -> str:
    """Return the query, from stdin if it is `-`; any bytes are a valid query."""
    if text != _STDIN:
        return text
    data = sys.stdin.buffer.read(_MAX_STDIN_BYTES)  # recall uses its beginning and its end
    return data.decode("utf-8", "replace")
