"""The commands that show the versions of a memory and restore one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from recollect.core.errors import InvalidInput
from recollect.core.memory.ids import is_id, short
from recollect.core.memory.memory import STATED_FIELDS, Memory
from recollect.ports.service import Service
from recollect.shells.cli.framework.commands import Argument, Option
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import (
    escape_controls,
    one_line,
    print_json,
    show,
    zoned_time,
)
from recollect.shells.cli.framework.shell import ask
from recollect.shells.cli.memory.link import describe_successor

Id = Annotated[str, Argument(metavar="ID", help="The memory's id, or the end of it.")]
# How a changed field is named, if not by the field's name. Times and version numbers are left out,
# since they change with every version.
_NAMES: Final = {
    "content": "text",
    "expanded_keywords": "keywords",
    "is_sensitive": "sensitivity",
    "valid_from": "start of validity",
    "valid_until": "expiry",
}
_DELETION_CHANGES: Final = {(False, True): "forgotten", (True, False): "brought back"}


def history(id: Id, *, as_json: AsJson = False) -> None:
    """Show the versions of a memory, newest first, and what each changed."""

    async def read(recollect: Service) -> tuple[list[Memory], str]:
        versions = await recollect.history(id)
        return versions, "" if as_json else await describe_successor(recollect, versions[0])

    versions, successor = ask(read)
    if as_json:
        from recollect.wire.memory import HISTORY

        print_json(HISTORY.encode(versions))
        return
    if successor:
        show(f"replaced by {successor}")
    for version, former in zip(versions, [*versions[1:], None], strict=True):
        changed = _describe_change(version, former)
        by = "" if version.changed_by is None else f" by {one_line(version.changed_by)}"
        show(f"version {version.version}, {zoned_time(version.updated_at)}{by}: {changed}")
        show(f"  {escape_controls(version.content)}")


def restore(
    what: Annotated[
        str,
        Argument(
            metavar="DIR|ID",
            help="A backup, or a directory of which to take the newest. With --version: a memory.",
        ),
    ],
    *,
    version: Annotated[
        int | None, Option("--version", help="Restore this version of the memory ID.")
    ] = None,
    into: Annotated[
        str | None,
        Option(
            "--into",
            help="The URL of a Postgres database, or a directory as the new RECOLLECT_HOME "
            "(default: what RECOLLECT_DATABASE_URL and RECOLLECT_HOME name).",
        ),
    ] = None,
    replace: Annotated[bool, Option("--replace", help="Delete the data that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty store, or a former version of a memory as a new version. What
    was erased or revoked since a backup stays so.
    """
    if version is None:
        from recollect.shells.cli.admin import backup

        if not Path(what).exists() and is_id(what):
            raise InvalidInput(
                f"there is no directory {what}; to restore a memory, say which version",
                field="--version",
                remedy=f"Run `recollect history {what}` to see its versions, then "
                f"`recollect restore {what} --version N`.",
            )
        backup.restore(Path(what), into=into, replace=replace, as_json=as_json)
    elif into is not None or replace:
        raise InvalidInput(
            "--version restores a memory; --into and --replace restore a backup",
            field="--version",
            remedy="Leave out one or the other.",
        )
    else:
        _restore_version(what, version, as_json=as_json)


def _restore_version(id: str, version: int, *, as_json: bool) -> None:
    memory = ask(lambda recollect: recollect.restore(id, version))
    if as_json:
        from recollect.wire.memory import MEMORY

        print_json(MEMORY.encode(memory))
        return
    show(f"{short(memory.id)}: restored version {version} as version {memory.version}")


def _describe_change(version: Memory, former: Memory | None) -> str:
    if former is None:
        return "stored" if version.version == 1 else "the oldest version that is kept"
    done = _DELETION_CHANGES.get((former.deleted_at is not None, version.deleted_at is not None))
    changed = [
        _NAMES.get(name, name.replace("_", " "))
        for name in (*STATED_FIELDS, "links")
        if getattr(version, name) != getattr(former, name)
    ]
    parts = [*([done] if done else []), *([f"changed {', '.join(changed)}"] if changed else [])]
    return ", ".join(parts) or "changed nothing"
