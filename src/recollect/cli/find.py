"""The commands that find memories: recall, why and list."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, cast, get_args

import typer

from recollect.cli.made import made_of_options
from recollect.cli.options import (
    AsJson,
    AsOf,
    Exclude,
    Expanded,
    Limit,
    SensitiveQuery,
    SortedBy,
    Weights,
    leg_weights,
    project_meant,
    scope_of_folder,
    then,
    whole_id,
)
from recollect.cli.output import note, print_json, show
from recollect.cli.shell import MOST_BYTES_A_CHARACTER, ask
from recollect.cli.text import one_line
from recollect.core.errors import InvalidInput
from recollect.core.explain import WhyReport
from recollect.core.memory import Scope
from recollect.core.paging import MAX_PAGE, Page
from recollect.core.recall import RecallRequest, Recollection, SortBy
from recollect.core.text import MAX_QUERY_CHARS
from recollect.ports import Recollect

_STDIN = "-"
_PAGE = 20


@made_of_options(where=scope_of_folder)
def _request(
    *,
    limit: Limit = 10,
    sort_by: SortedBy = "relevance",
    where: Scope,
    exclude: Exclude = None,
    weight: Weights = None,
    expanded: Expanded = "",
    sensitive: SensitiveQuery = False,
    as_of: AsOf = None,
) -> RecallRequest:
    """What is asked, all but the query."""
    return RecallRequest(
        query="",
        expanded_query=expanded,
        limit=limit,
        sort_by=_sort_order(sort_by),
        scope=where,
        exclude=frozenset(whole_id(one, "exclude") for one in exclude or ()),
        weights=leg_weights(weight),
        is_sensitive=sensitive,
        as_of=then(as_of),
    )


@made_of_options(request=_request)
def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Any text; - reads it from stdin.")],
    *,
    request: RecallRequest,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of each hit why it is there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the memories most useful for a query, best first."""
    asked = replace(request, query=_query(query))

    async def find(recollect: Recollect) -> Recollection:
        return await recollect.recall(await _in_project_meant(recollect, asked))

    found = ask(find)
    if as_json:
        from recollect.wire.recalled import RecollectionOut

        print_json(RecollectionOut.from_recollection(found, explain=explain))
    else:
        _show_hits(found, explain=explain)


@made_of_options(request=_request)
def why(
    id: Annotated[str, typer.Argument(metavar="ID", help="An id, or the beginning of one.")],
    *,
    query: Annotated[
        str, typer.Option("--query", help="The query it should answer; - reads it from stdin.")
    ],
    request: RecallRequest,
    as_json: AsJson = False,
) -> None:
    """Say why a memory is recalled for a query or is not, and what would bring it in."""
    asked = replace(request, query=_query(query))

    async def explain(recollect: Recollect) -> WhyReport:
        return await recollect.why(id, await _in_project_meant(recollect, asked))

    report = ask(explain)
    if as_json:
        from recollect.wire.explained import WhyOut

        print_json(WhyOut.from_report(report))
    else:
        from recollect.cli.render_why import why as rendered

        show(rendered(report))
        if report.note:
            note(report.note)


@made_of_options(where=scope_of_folder)
def list_memories(
    *,
    where: Scope,
    limit: Annotated[
        int, typer.Option("--limit", help=f"How many memories, 1 to {MAX_PAGE}.")
    ] = _PAGE,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Where the previous page ended.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List memories, newest first."""

    async def find(recollect: Recollect) -> Page:
        project = await project_meant(recollect, where.project)
        return await recollect.page(replace(where, project=project), cursor, limit)

    page = ask(find)
    if as_json:
        from recollect.wire.answers import PageOut

        print_json(PageOut.from_page(page))
        return
    if not page.memories:
        note(f"no memories{_in(page.scope)}{_more_everywhere(page.scope)}")
        return
    from recollect.cli.render import listing

    show(listing(page.memories))
    _tell_where(page.scope)
    if page.next_cursor:
        note(f"more: add --cursor {page.next_cursor}")


def _show_hits(found: Recollection, *, explain: bool) -> None:
    if not found.hits:
        note(f"nothing found{_in(found.scope)}{_more_everywhere(found.scope)}")
    if found.hits or explain:
        from recollect.cli.render import hits, legs

        show(
            *([hits(found, explain=explain)] if found.hits else []),
            *([legs(found)] if explain else []),
        )
    if found.hits:
        _tell_where(found.scope)
    if found.note:
        note(found.note)
    if found.hint and not _was_shown_today(found.hint):
        note(found.hint)
    for leg in found.degraded if not found.note else ():
        note(f"the {leg} leg did not answer ({found.legs[leg].status}); hits may be missing")
    if found.rerank is not None and found.rerank.status != "ran":
        note(f"the hits were not reranked ({found.rerank.status}): {found.rerank.note}")


def _was_shown_today(hint: str) -> bool:
    """Whether this store's person has read it today; from now on he has. Where that cannot be
    written down, it is shown again.
    """
    from recollect.settings import load

    today = datetime.now(UTC).date().isoformat()
    file = load().home / "hints-shown.json"
    try:
        shown = json.loads(file.read_text())
    except (OSError, ValueError):
        shown = {}
    if not isinstance(shown, dict) or shown.get("day") != today:
        shown = {"day": today, "hints": []}
    if hint in shown["hints"]:
        return True
    shown["hints"].append(hint)
    with suppress(OSError):
        file.write_text(json.dumps(shown))
    return False


async def _in_project_meant(recollect: Recollect, asked: RecallRequest) -> RecallRequest:
    project = await project_meant(recollect, asked.scope.project)
    return replace(asked, scope=replace(asked.scope, project=project))


def _tell_where(scope: Scope) -> None:
    """Nobody is to take the memories of one project for all of them."""
    if where := _in(scope):
        note(f"looked{where}{_more_everywhere(scope)}")


def _in(scope: Scope) -> str:
    named = [] if scope.project is None else [one_line(scope.project)]
    parts = [*named, *(["global memories"] if scope.with_global else [])]
    return f" in {' and '.join(parts)}" if parts else ""


def _more_everywhere(scope: Scope) -> str:
    return "; --everywhere looks in all projects" if _in(scope) else ""


def _sort_order(text: str) -> SortBy:
    if text not in get_args(SortBy):
        raise InvalidInput(
            f"unknown sort order {text[:60]!r}",
            field="sort_by",
            remedy=f"Choose one of: {', '.join(get_args(SortBy))}.",
        )
    return cast("SortBy", text)


def _query(text: str) -> str:
    """The text, or as much of stdin as a recall looks at; any bytes are a legal query."""
    if text != _STDIN:
        return text
    data = sys.stdin.buffer.read(MAX_QUERY_CHARS * MOST_BYTES_A_CHARACTER)
    return data.decode("utf-8", "replace")
