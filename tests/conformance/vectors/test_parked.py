"""Whether one memory's text is parked, and with which error."""

from __future__ import annotations

import pytest
from tests.conformance.samples import OWNER, memory
from tests.conformance.stores import SPACE, Place, make_due, opened, rows

from recollect.core.retry import MAX_JOB_ATTEMPTS

pytestmark = pytest.mark.anyio


async def test_parked_reports_the_error_to_the_owner_alone(place: Place) -> None:
    async with opened(place) as (store, vectors):
        poison = memory(1, "poison")
        space = await vectors.open_space("compass", SPACE)
        await store.add(poison)
        assert await vectors.parked(OWNER, poison.id) is None
        for _ in range(MAX_JOB_ATTEMPTS):
            await vectors.fail(space, await vectors.claim(space, 1), "the model choked")
            await make_due(store)
        assert await vectors.parked(OWNER, poison.id) == "the model choked"
        assert await vectors.parked("somebody else", poison.id) is None
        # Parked in a space that recall does not search, it is not held up.
        await rows(store, "update spaces set state = 'retired'")
        assert await vectors.parked(OWNER, poison.id) is None
