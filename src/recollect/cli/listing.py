"""The command that lists memories."""

from __future__ import annotations

from typing import Annotated

from recollect.cli.declared import Option
from recollect.cli.made import made_of_options
from recollect.cli.options import AsJson, scope
from recollect.cli.output import note, print_json, show
from recollect.cli.shell import ask
from recollect.core.memory import Scope
from recollect.core.paging import MAX_PAGE

_PAGE = 20


@made_of_options(where=scope)
def list_memories(
    *,
    where: Scope,
    limit: Annotated[int, Option("--limit", help=f"How many memories, 1 to {MAX_PAGE}.")] = _PAGE,
    cursor: Annotated[str | None, Option("--cursor", help="Where the previous page ended.")] = None,
    as_json: AsJson = False,
) -> None:
    """List memories, newest first."""
    page = ask(lambda recollect: recollect.page(where, cursor, limit))
    if as_json:
        from recollect.wire.answers import PageOut

        print_json(PageOut.from_page(page))
        return
    if not page.memories:
        note("no memories here")
        return
    from recollect.cli.render import listing

    show(listing(page.memories))
    if page.next_cursor:
        note(f"more: add --cursor {page.next_cursor}")
