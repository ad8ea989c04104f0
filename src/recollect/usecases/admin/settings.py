"""Read and change the run-time settings, and report who changed them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings, SettingChange, check_log_limit

if TYPE_CHECKING:
    from recollect.usecases.context import Context

_NO_LEG: Final = "recall could not find anything: every leg that works here has the weight 0"


async def settings(context: Context) -> RecallSettings:
    return context.default_settings.with_stored(await context.settings.read_settings())


async def change_settings(
    context: Context, owner: str, changes: Mapping[str, object]
) -> RecallSettings:
    """Settings are shared by all owners; `owner` goes into the log. Returns them as read after the
    write, since another writer may have changed other ones.
    """
    if not changes:
        raise InvalidInput(
            "no setting was given", field="settings", remedy="Name at least one setting to change."
        )
    changed = (await settings(context)).changed(changes)
    if (missing := _missing_weights(context, changed)) is not None:
        raise InvalidInput(
            _NO_LEG,
            field=next((name for name in changes if name in missing), missing[0]),
            remedy=f"Set {' or '.join(missing)} to a value above 0.",
        )
    written = {name: value for name, value in changed.as_dict().items() if name in changes}
    await context.settings.write_settings(written, by=owner, at=context.clock.now())
    return await settings(context)


async def check_some_leg(context: Context) -> None:
    """Raise InvalidInput if the stored settings turn off all legs that this server has."""
    missing = _missing_weights(context, await settings(context))
    if missing is not None:
        raise InvalidInput(
            _NO_LEG,
            field="RECOLLECT_EMBEDDER",
            remedy="Start the server with the RECOLLECT_EMBEDDER that it had before, and run "
            f"`recollect settings set {missing[0]} 1`.",
        )


def _missing_weights(context: Context, chosen: RecallSettings) -> list[str] | None:
    """Return the weights of which at least one must be above 0, or None if one is."""
    weights = chosen.weights()
    working = [name for name in context.legs if name not in context.broken_legs]
    if any(weights[name] > 0.0 for name in working):
        return None
    return [f"{name}_weight" for name in working]


async def settings_log(context: Context, limit: int) -> list[SettingChange]:
    """Return the latest changes, newest first."""
    check_log_limit(limit)
    return await context.settings.settings_log(limit)
