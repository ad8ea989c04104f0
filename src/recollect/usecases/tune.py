"""Read and change the run-time settings, and tell who changed them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recollect.core.errors import InvalidInput
from recollect.core.recall_settings import RecallSettings, SettingChange, check_log_limit

if TYPE_CHECKING:
    from recollect.usecases.parts import Parts


async def settings(parts: Parts) -> RecallSettings:
    return RecallSettings.stored(await parts.settings.read_settings())


async def change_settings(
    parts: Parts, owner: str, changes: Mapping[str, object]
) -> RecallSettings:
    """Settings are everybody's; `owner` is who goes into the log. They are read again when they are
    written: somebody else may have changed others meanwhile.
    """
    if not changes:
        raise InvalidInput(
            "no setting was named", field="settings", remedy="Name at least one setting to change."
        )
    changed = (await settings(parts)).changed(changes)
    wanted = {name: value for name, value in changed.as_dict().items() if name in changes}
    await parts.settings.write_settings(wanted, by=owner, at=parts.clock.now())
    return await settings(parts)


async def settings_log(parts: Parts, limit: int) -> list[SettingChange]:
    """The latest changes, newest first."""
    check_log_limit(limit)
    return await parts.settings.settings_log(limit)
