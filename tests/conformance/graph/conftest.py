"""Both stores that have a graph inherit every test of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.conformance.stores import FullStore, Place, open_store


@pytest.fixture
async def store(place: Place) -> AsyncIterator[FullStore]:
    async with open_store(place) as opened:
        yield opened
