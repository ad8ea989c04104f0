"""Read and change the run-time settings."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.core.errors import InvalidInput
from recollect.core.recall_settings import RecallSettings
from recollect.usecases.parts import Parts


async def settings(parts: Parts) -> RecallSettings:
    return RecallSettings.stored(await parts.settings.read_settings())


async def change_settings(parts: Parts, changes: Mapping[str, object]) -> RecallSettings:
    if not changes:
        raise InvalidInput(
            "no setting was named", field="settings", remedy="Name at least one setting to change."
        )
    changed = (await settings(parts)).changed(changes)
    wanted = {name: value for name, value in changed.as_dict().items() if name in changes}
    await parts.settings.write_settings(wanted)
    return changed
