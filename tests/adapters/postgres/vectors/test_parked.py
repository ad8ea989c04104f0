"""Whether one memory's text is parked, and with what it failed."""

from __future__ import annotations

import pytest
from tests.adapters.vectors import SPACE, opened, rows
from tests.conformance.samples import OWNER, memory

pytestmark = pytest.mark.anyio

_PARK = "update embeddings set due_at = 'infinity', last_error = 'the model choked'"


async def test_parked_reports_the_error_to_the_owner_alone(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        poison = memory(1, "poison")
        await vectors.open_space("compass", SPACE)
        await store.add(poison)
        assert await vectors.parked(OWNER, poison.id) is None
        await rows(store, _PARK)
        assert await vectors.parked(OWNER, poison.id) == "the model choked"
        assert await vectors.parked("somebody else", poison.id) is None
        # Parked in a space that nobody asks, it is not kept from anything.
        await rows(store, "update spaces set state = 'retired'")
        assert await vectors.parked(OWNER, poison.id) is None
