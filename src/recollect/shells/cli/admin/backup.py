"""The commands that back up and restore a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recollect.core.text.analysis import counted
from recollect.shells.cli.framework.commands import Argument, Option
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import note, print_json, show
from recollect.shells.cli.framework.shell import require_own_database, run_async

if TYPE_CHECKING:
    from recollect.core.admin.backup import Manifest


def backup(
    folder: Annotated[
        Path, Argument(metavar="DIR", help="Directory for backups; a new one is added.")
    ],
    *,
    verify: Annotated[
        bool,
        Option("--verify", help="Restore it into a throw-away database and compare every row."),
    ] = False,
    keep: Annotated[
        int | None,
        Option("--keep", min=1, help="Then remove all but the newest KEEP backups in DIR."),
    ] = None,
    local: Annotated[
        bool, Option("--local", help="Back up the local store, not a server's database.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Back up the server's database, or the local store if there is no server here. It may be in
    use meanwhile.
    """
    from recollect.settings import load
    from recollect.shells.progress import quiet_step_bar
    from recollect.wiring.backup import make_backup

    settings = load()
    if not local and settings.mode == "remote":
        require_own_database(settings)
    with quiet_step_bar() as step:
        result = run_async(
            make_backup(settings, folder, local=local, verify=verify, keep=keep, report=step)
        )
    if as_json:
        about = {"verified": result.is_verified, "removed": [str(path) for path in result.removed]}
        print_json({"path": str(result.path), **_facts(result.manifest), **about})
        return
    checked = ", verified" if result.is_verified else ""
    show(f"{result.path}: {_count(result.manifest)}{checked}")
    if result.removed:
        show(f"removed {counted(len(result.removed), 'older backup')}")


def restore(folder: Path, *, into: str | None, replace: bool, as_json: bool) -> None:
    """Restore a backup into an empty store. What was erased or revoked since stays so."""
    from recollect.settings import load
    from recollect.shells.progress import quiet_step_bar
    from recollect.wiring.backup import restore_backup

    with quiet_step_bar() as step:
        done = run_async(
            restore_backup(load(), folder, into=into, replace_data=replace, report=step)
        )
    if as_json:
        about = {"target": done.target, "notes": [*done.notes]}
        print_json({"path": str(done.path), **_facts(done.manifest), **about})
        return
    show(f"restored {_count(done.manifest)} from {done.path} into {done.target}")
    for text in done.notes:
        note(text)


def _facts(manifest: Manifest) -> dict[str, object]:
    return {
        "kind": manifest.kind,
        "made_by": manifest.made_by,
        "made_at": manifest.made_at.isoformat(),
        "memories": manifest.count("memories"),
        "tables": len(manifest.tables),
        "rows": manifest.rows,
    }


def _count(manifest: Manifest) -> str:
    return (
        f"{counted(manifest.count('memories'), 'memory')}, {counted(manifest.rows, 'row')} in "
        f"{counted(len(manifest.tables), 'table')}"
    )
