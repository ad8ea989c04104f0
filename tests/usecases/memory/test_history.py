from __future__ import annotations

from dataclasses import replace

import pytest
from tests.usecases.conftest import build_context

from recollect.core.errors import NotFound
from recollect.core.memory.memory import Draft
from recollect.usecases.admin.within_project import ProjectStore
from recollect.usecases.context import Context
from recollect.usecases.memory.change import history, link, restore, update
from recollect.usecases.memory.remember import remember
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio


async def test_history_has_every_version_newest_first(context: Context) -> None:
    first = await remember(context, "me", Draft("port 8000"))
    second = await update(context, "me", str(first.id), {"content": "port 9000"})
    assert await history(context, "me", str(first.id)[:18]) == [second, first]


async def test_restore_makes_a_new_version_of_an_old_one(context: Context) -> None:
    other = await remember(context, "me", Draft("another"))
    first = await remember(context, "me", Draft("port 8000", tags=("api",)))
    await update(context, "me", str(first.id), {"content": "port 9000", "tags": ()})
    await link(context, "me", str(first.id), "supersedes", str(other.id))
    restored = await restore(context, "me", str(first.id), 1)
    assert restored == replace(first, version=4, updated_at=restored.updated_at)
    assert [each.version for each in await history(context, "me", str(first.id))] == [4, 3, 2, 1]


async def test_restore_never_makes_a_sensitive_memory_public(context: Context) -> None:
    first = await remember(context, "me", Draft("port 8000"))
    await update(context, "me", str(first.id), {"is_sensitive": True})
    assert (await restore(context, "me", str(first.id), 1)).is_sensitive


async def test_restore_of_an_unknown_version_says_where_to_look(context: Context) -> None:
    first = await remember(context, "me", Draft("port 8000"))
    with pytest.raises(NotFound, match="has no version 2") as raised:
        await restore(context, "me", str(first.id), 2)
    assert "recollect history" in raised.value.remedy


async def test_history_inside_a_project_leaves_out_other_projects(store: InMemoryStore) -> None:
    context = build_context(store)
    first = await remember(context, "me", Draft("port 8000", project="web"))
    await update(context, "me", str(first.id), {"project": "shop"})
    limited = replace(context, store=ProjectStore(store, "shop"))
    assert [each.version for each in await history(limited, "me", str(first.id))] == [2]
    with pytest.raises(NotFound):
        await restore(limited, "me", str(first.id), 1)
