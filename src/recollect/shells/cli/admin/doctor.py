"""The command that checks an installation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from recollect.core.admin.checks import Check
from recollect.core.errors import InvalidInput
from recollect.shells.cli.framework.commands import Option
from recollect.shells.cli.framework.exit import Exit, ExitCode
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import print_json, show


def doctor(
    *,
    full: Annotated[
        bool,
        Option(
            "--full",
            help="Also install and probe the embedded Postgres if it is missing, and connect "
            "to the server's database.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check this installation and suggest a fix for each problem."""
    from recollect.settings import load
    from recollect.shells.doctor.checks import examine

    try:
        done = list(examine(load(), full=full))
    except InvalidInput as error:  # without settings there is nothing else to check
        done = [Check("settings", "fail", str(error), error.remedy)]
    healthy = all(check.status != "fail" for check in done)
    if as_json:
        print_json({"healthy": healthy, "checks": [asdict(check) for check in done]})
    else:
        from recollect.shells.cli.render.tables import checks

        show(checks(done))
    if not healthy:
        raise Exit(ExitCode.UNEXPECTED)
