"""The former states of a memory, on every store."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.conformance.conftest import Store
from tests.conformance.samples import OWNER, memory
from tests.conformance.test_as_of import change
from tests.conformance.test_links import links

pytestmark = pytest.mark.anyio


async def test_versions_are_the_former_states_oldest_first(store: Store) -> None:
    first = memory(1, "the harbour is shallow", tags=("sea",), links=links(see_also=9))
    await store.add(first)
    assert await store.versions(OWNER, first.id) == []
    second = await change(store, 1, 10, content="the port is deep", tags=(), links=())
    await change(store, 1, 20, importance=1.0)
    assert await store.versions(OWNER, first.id) == [first, second]


async def test_versions_of_a_memory_that_became_sensitive_are_sensitive(store: Store) -> None:
    await store.add(memory(1, "the harbour is shallow"))
    await change(store, 1, 10, is_sensitive=True)
    assert [former.is_sensitive for former in await store.versions(OWNER, UUID(int=1))] == [True]


async def test_versions_belong_to_one_owner_and_go_with_the_memory(store: Store) -> None:
    await store.add(memory(1, "the harbour is shallow"))
    await change(store, 1, 10, content="the port is deep")
    assert await store.versions("someone else", UUID(int=1)) == []
    assert await store.erase(OWNER, UUID(int=1))
    assert await store.versions(OWNER, UUID(int=1)) == []
