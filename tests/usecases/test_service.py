"""The use cases bound to one owner: a memory's whole life, and nobody else's in sight."""

from __future__ import annotations

import pytest

from recollect.core.admin.stats import Stats
from recollect.core.errors import NotFound
from recollect.core.memory.memory import EVERYWHERE, Draft
from recollect.core.recall.request import RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.ports.service import Service
from recollect.usecases.context import Context
from recollect.usecases.service import LocalService

pytestmark = pytest.mark.anyio


async def test_a_memorys_life(context: Context) -> None:
    mine: Service = LocalService(context, "me")
    yours: Service = LocalService(context, "you")
    theirs = await yours.remember(Draft("staging belongs to you"))

    stored = await mine.remember(Draft("staging is frozen", project="web"))
    assert await mine.get(str(stored.id)) == stored
    changed = await mine.update(str(stored.id), {"is_sensitive": True}, based_on=1)
    assert [hit.memory for hit in (await mine.recall(RecallRequest("staging"))).hits] == [changed]
    assert (await mine.page(EVERYWHERE, None, 10)).memories == (changed,)
    assert await mine.stats() == Stats(1, 0, 1, {"fact": 1}, {"web": 1}, by_language={"en": 1})
    assert await mine.forget(str(stored.id)) == stored.id
    assert await mine.stats() == Stats(0, 1, 0)
    assert await mine.forget(str(stored.id), forever=True) == stored.id
    assert await mine.stats() == Stats(0, 0, 0)

    with pytest.raises(NotFound):
        await mine.get(str(theirs.id))
    assert await yours.get(str(theirs.id)) == theirs


async def test_settings_are_shared_by_all_owners(context: Context) -> None:
    changed = await LocalService(context, "me").change_settings({"rrf_k": 10})
    assert changed == RecallSettings(rrf_k=10)
    assert await LocalService(context, "you").settings() == changed
