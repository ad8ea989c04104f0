"""The commands for run-time settings: show, set, log."""

from __future__ import annotations

from typing import Annotated

from recollect.core.recall.settings import MAX_SETTINGS_LOG, RecallSettings
from recollect.ports.service import Service
from recollect.shells.cli.framework.commands import Argument, Group, Option
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import note, print_json, setting_value, show
from recollect.shells.cli.framework.shell import ask

_LOG = 20

settings_app = Group("Show or change how recall ranks; changes apply from the next recall.")


@settings_app.default
def show_settings(*, as_json: AsJson = False) -> None:
    values = ask(lambda recollect: recollect.settings()).as_dict()
    if as_json:
        print_json(values)
    else:
        from recollect.shells.cli.render.tables import facts

        show(facts({name: setting_value(value) for name, value in values.items()}))


@settings_app.command("set")
def set_setting(
    name: Annotated[
        str, Argument(metavar="NAME", help="A setting that `recollect settings` lists.")
    ],
    value: Annotated[
        str, Argument(metavar="VALUE", help="The new value: a number, a name, on or off.")
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Change a setting for every process on this store, and show the change."""

    async def change(recollect: Service) -> tuple[RecallSettings, RecallSettings]:
        before = await recollect.settings()
        return before, await recollect.change_settings({name: value})

    old, new = (settings.as_dict()[name] for settings in ask(change))
    if as_json:
        print_json({name: {"old": old, "new": new}})
    elif old == new:
        show(f"{name} is already {setting_value(new)}")
    else:
        show(f"{name}: {setting_value(old)} → {setting_value(new)}")


@settings_app.command("log")
def show_log(
    *,
    limit: Annotated[
        int, Option("--limit", help=f"Maximum number of changes, 1 to {MAX_SETTINGS_LOG}.")
    ] = _LOG,
    as_json: AsJson = False,
) -> None:
    """Show who changed which setting, newest first."""
    changes = ask(lambda recollect: recollect.settings_log(limit))
    if as_json:
        from recollect.wire.admin import SETTINGS_LOG

        print_json(SETTINGS_LOG.encode(changes))
    elif changes:
        from recollect.shells.cli.render.why import settings_log

        show(settings_log(changes))
    else:
        note("no setting has been changed yet")
