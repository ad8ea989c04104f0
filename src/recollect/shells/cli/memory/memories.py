"""The commands for single memories: remember, show, update, forget."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, cast
from uuid import UUID

from recollect.core.errors import InvalidInput, NotFound, RecollectError
from recollect.core.memory.ids import short
from recollect.core.memory.links import SUPERSEDES, Link
from recollect.core.memory.memory import (
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    Changes,
    Draft,
    Memory,
)
from recollect.core.memory.project import project_to_store_in
from recollect.ports.service import Service
from recollect.shells.cli.framework.commands import Argument, Option, option_group
from recollect.shells.cli.framework.exit import Exit, ExitCode, exit_code
from recollect.shells.cli.framework.options import (
    AsJson,
    Category,
    Global,
    Importance,
    Keywords,
    Lifetime,
    Project,
    Sensitive,
    Session,
    Tags,
    check_project,
    lifetime,
    parse_full_id,
    project_of_folder,
    resolve_project,
)
from recollect.shells.cli.framework.output import note, one_line, print_json, show
from recollect.shells.cli.framework.shell import ask, prompt, read_stdin, report
from recollect.shells.cli.memory.link import describe_links, describe_successor

if TYPE_CHECKING:
    from recollect.core.text.secret import Secret

STDIN = "-"
Id = Annotated[str, Argument(metavar="ID", help="The memory's id, or the end of it.")]


@option_group(validity=lifetime)
def remember(
    text: Annotated[
        str | None,
        Argument(metavar="[TEXT]", help="The text to remember; omitted or -: stdin."),
    ] = None,
    *,
    category: Category = DEFAULT_CATEGORY,
    tag: Tags = None,
    keyword: Keywords = None,
    importance: Importance = DEFAULT_IMPORTANCE,
    sensitive: Sensitive = None,
    project: Project = None,
    is_global: Global = False,
    session: Session = None,
    validity: Lifetime,
    id: Annotated[
        str | None, Option("--id", help="Your own UUIDv7, which makes retries safe.")
    ] = None,
    supersedes: Annotated[
        list[str] | None,
        Option("--supersedes", help="Id of a memory that this one replaces; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Store a memory: one self-contained statement.

    By default it belongs to the project of this folder's repository, if there is one.
    """
    draft = Draft(
        content=read_stdin("the memory") if text in (None, STDIN) else str(text),
        category=category or DEFAULT_CATEGORY,
        tags=tuple(tag or ()),
        expanded_keywords=tuple(keyword or ()),
        importance=DEFAULT_IMPORTANCE if importance is None else importance,
        is_sensitive=sensitive,
        project=project_to_store_in(
            check_project(project, has_global=True), project_of_folder(), is_global=is_global
        ),
        session=session,
        id=parse_full_id(id, "id") if id else None,
        **validity,
    )

    async def remember_it(recollect: Service) -> Memory:
        replaced = [(await recollect.get(reference)).id for reference in supersedes or ()]
        links = tuple(Link(SUPERSEDES, id) for id in replaced)
        resolved = await resolve_project(recollect, draft.project)
        return await recollect.remember(replace(draft, links=links, project=resolved))

    memory = ask(remember_it)
    if as_json:
        from recollect.wire.memory import WRITTEN, Written

        print_json(WRITTEN.encode(Written.of_draft(memory, draft)))
    else:
        from recollect.core.privacy.sensitive import secret_in_draft

        _report(memory, "remembered", lambda: secret_in_draft(draft))


def show_memory(id: Id, *, as_json: AsJson = False) -> None:
    """Show a memory with all its fields."""

    async def get(recollect: Service) -> tuple[Memory, list[str], str]:
        memory = await recollect.get(id)
        if as_json:
            return memory, [], ""
        successor = await describe_successor(recollect, memory)
        return memory, await describe_links(recollect, memory), successor

    memory, links, successor = ask(get)
    if as_json:
        from recollect.wire.memory import MEMORY

        print_json(MEMORY.encode(memory))
    else:
        from recollect.shells.cli.render.tables import card

        show(card(memory, links, successor))


@option_group(validity=lifetime)
def update(
    id: Id,
    *,
    content: Annotated[
        str | None, Option("--content", help="The new text; - reads it from stdin.")
    ] = None,
    category: Category = None,
    tag: Tags = None,
    keyword: Keywords = None,
    importance: Importance = None,
    sensitive: Sensitive = None,
    project: Project = None,
    is_global: Global = False,
    session: Session = None,
    validity: Lifetime,
    based_on: Annotated[
        int | None,
        Option("--based-on", help="Update only if this is still the current version."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change the given fields of a memory; an empty value clears a field (--tag "")."""
    values = {
        "content": read_stdin("the new text") if content == STDIN else content,
        "category": category,
        "tags": None if tag is None else tuple(tag),
        "expanded_keywords": None if keyword is None else tuple(keyword),
        "importance": importance,
        "is_sensitive": sensitive,
        "session": session,
    }
    stated = {name: value for name, value in values.items() if value is not None}
    changes = cast("Changes", {**stated, **validity})
    if project is not None or is_global:
        changes["project"] = project_to_store_in(project, None, is_global=is_global)

    async def update_it(recollect: Service) -> Memory:
        if "project" in changes:
            changes["project"] = await resolve_project(recollect, changes["project"])
        return await recollect.update(id, changes, based_on=based_on)

    memory = ask(update_it)
    if as_json:
        from recollect.wire.memory import WRITTEN, Written

        print_json(WRITTEN.encode(Written.of_changes(memory, changes)))
    else:
        from recollect.core.privacy.sensitive import secret_in_changes

        _report(memory, "updated", lambda: secret_in_changes(changes))


def forget(
    ids: Annotated[
        list[str], Argument(metavar="ID...", help="Ids of memories, or the ends of them.")
    ],
    *,
    forever: Annotated[
        bool, Option("--forever", help="Erase permanently; this cannot be undone.")
    ] = False,
    search: Annotated[
        bool, Option("--search", help="After erasing, search the store for anything that remains.")
    ] = False,
    yes: Annotated[
        bool, Option("--yes", help="Do not ask for confirmation before erasing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Forget memories: recall and listings no longer show them. Stops at the first error."""
    if forever and not yes:
        _confirm(len(ids), as_json=as_json)
    forgotten: dict[str, str] = {}
    known: list[Memory] = []
    failure: RecollectError | None = None

    async def forget_each(recollect: Service) -> None:
        nonlocal failure
        for id in ids:
            try:
                known.extend(await _find_known(recollect, id) if search else ())
                gone = await recollect.forget(id, forever=forever)
            except RecollectError as error:
                failure = error
                return
            how_to_restore = "" if forever else await _describe_how_to_restore(recollect, gone)
            forgotten[str(gone)] = f"{'erased' if forever else 'forgot'} {gone}{how_to_restore}"

    ask(forget_each)
    if failure is not None and not forgotten:
        raise failure
    if forever and search:
        from recollect.shells.cli.admin.erase import report_search

        report_search(known, [*forgotten], as_json=as_json)
    elif as_json:
        print_json({"forgotten": [*forgotten], "forever": forever})
    else:
        show(*forgotten.values())
    if failure is not None:
        report(failure, as_json=as_json)
        raise Exit(exit_code(failure))


async def _describe_how_to_restore(recollect: Service, id: UUID) -> str:
    try:
        forgotten, *former = await recollect.history(str(id))
    except RecollectError:  # it is forgotten nevertheless
        return ""
    version = former[0].version if former else forgotten.version
    return f"; to bring it back: recollect restore {short(id)} --version {version}"


async def _find_known(recollect: Service, id: str) -> list[Memory]:
    """Return the memory; empty if it was already forgotten, and only its full id is known."""
    try:
        return [await recollect.get(id)]
    except NotFound:
        return []


def _confirm(number: int, *, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise InvalidInput(
            "erasing cannot be undone, and there is no terminal to confirm it",
            field="yes",
            remedy="Pass --yes to erase, or omit --forever to forget.",
        )
    what = "this memory" if number == 1 else f"these {number} memories"
    if (prompt(f"Erase {what} permanently? [y/N]") or "").lower() not in ("y", "yes"):
        note("nothing was erased")
        raise Exit(ExitCode.UNEXPECTED)


def _report(memory: Memory, done: str, find_secret: Callable[[], Secret | None]) -> None:
    where = "" if memory.project is None else f" in {one_line(memory.project)}"
    if memory.was_known:
        done = "already remembered as"
    show(f"{done} {short(memory.id)}{where} (version {memory.version})")
    if memory.valid_until is not None and memory.valid_until <= datetime.now(UTC):
        show("it has expired already: it is listed, but not recalled")
    if memory.is_sensitive and (secret := find_secret()) is not None:
        from recollect.core.privacy.secrets.detect import describe_secret

        because = describe_secret(secret.kind, secret.confidence)
        show(f"marked as sensitive: {because}; override with --not-sensitive")
