"""The command that lists memories."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from recollect.core.memory.listing import MAX_PAGE, Page
from recollect.core.memory.memory import Scope
from recollect.shells.cli.framework.commands import Option, option_group
from recollect.shells.cli.framework.options import (
    AsJson,
    describe_scope,
    report_scope,
    resolve_project,
    scope_of_folder,
    suggest_everywhere,
)
from recollect.shells.cli.framework.output import note, print_json, show
from recollect.shells.cli.framework.shell import ask

if TYPE_CHECKING:
    from recollect.ports.service import Service

_PAGE = 20


@option_group(where=scope_of_folder)
def list_memories(
    *,
    where: Scope,
    limit: Annotated[
        int, Option("--limit", help=f"Maximum number of memories, 1 to {MAX_PAGE}.")
    ] = _PAGE,
    after: Annotated[
        str | None,
        Option("--after", help="Continue after this memory, the last of the previous page."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List memories, newest first."""

    async def find(recollect: Service) -> tuple[Page, dict[UUID, str]]:
        project = await resolve_project(recollect, where.project)
        page = await recollect.page(replace(where, project=project), after, limit)
        if as_json:
            return page, {}
        shown = {id for memory in page.memories for id in (memory.id, memory.superseded_by) if id}
        return page, await recollect.short_ids(shown)

    page, ids = ask(find)
    if as_json:
        from recollect.wire.memory import PAGE

        print_json(PAGE.encode(page))
        return
    if not page.memories:
        note(f"no memories{describe_scope(page.scope)}{suggest_everywhere(page.scope)}")
        return
    from recollect.shells.cli.render.tables import listing

    show(listing(page.memories, ids))
    report_scope(page.scope)
    if page.next_cursor:
        note(f"for more, add --after {ids[page.memories[-1].id]}")
