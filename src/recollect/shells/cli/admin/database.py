"""The command that distributes the server's database over a Citus cluster."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from recollect.core.admin.distribution import DEFAULT_SHARDS
from recollect.shells.cli.framework.commands import Group, Option
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import print_json, show

database_app = Group("Manage the server's database.")


@database_app.command("distribute")
def distribute(
    *,
    shards: Annotated[
        int,
        Option("--shards", min=1, help="Shards of each table: owners are divided among so many."),
    ] = DEFAULT_SHARDS,
    as_json: AsJson = False,
) -> None:
    """Distribute the tables over the nodes of a Citus cluster, by owner. Run it again to continue
    after an error, or after adding a table.
    """
    from recollect.settings import load
    from recollect.shells.progress import step_bar
    from recollect.wiring.postgres import distribute_database

    with step_bar() as step:
        found = distribute_database(load(), shards, step)
    if as_json:
        print_json({**asdict(found), "is_complete": found.is_complete})
    else:
        show(str(found))
