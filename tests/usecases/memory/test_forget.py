from __future__ import annotations

import pytest

from recollect.core.errors import AmbiguousId, NotFound
from recollect.core.memory.memory import EVERYWHERE, Draft
from recollect.core.recall.request import RecallRequest
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.memory.change import forget
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall

pytestmark = pytest.mark.anyio


async def test_what_is_forgotten_is_shown_nowhere_but_kept(context: Context) -> None:
    memory = await remember(context, "me", Draft("staging is frozen"))
    assert await forget(context, "me", str(memory.id)[:13]) == memory.id
    assert (await recall(context, "me", RecallRequest("staging"))).hits == ()
    assert (await find.page(context, "me", EVERYWHERE, None, 10)).memories == ()
    with pytest.raises(NotFound):
        await find.get(context, "me", str(memory.id))
    stats = await context.store.stats("me")
    assert (stats.memories, stats.forgotten) == (0, 1)
    kept = await context.store.get("me", memory.id)
    assert kept is not None
    assert kept.version == 2
    assert kept.deleted_at == kept.updated_at
    assert kept.content == "staging is frozen"


async def test_forever_erases_every_trace(context: Context) -> None:
    memory = await remember(context, "me", Draft("staging is frozen"))
    assert await forget(context, "me", str(memory.id), forever=True) == memory.id
    assert await context.store.get("me", memory.id) is None
    assert (await context.store.stats("me")).forgotten == 0


async def test_forever_also_erases_what_was_forgotten_before(context: Context) -> None:
    memory = await remember(context, "me", Draft("staging is frozen"))
    await forget(context, "me", str(memory.id))
    await forget(context, "me", str(memory.id), forever=True)
    assert await context.store.get("me", memory.id) is None


@pytest.mark.parametrize("forever", [False, True])
async def test_one_delete_removes_one_memory(context: Context, forever: bool) -> None:
    one = await remember(context, "me", Draft("one"))
    other = await remember(context, "me", Draft("other"))
    with pytest.raises(AmbiguousId):
        await forget(context, "me", str(one.id)[:4], forever=forever)
    await forget(context, "me", str(one.id), forever=forever)
    assert (await find.page(context, "me", EVERYWHERE, None, 10)).memories == (other,)


@pytest.mark.parametrize("forever", [False, True])
async def test_forget_rejects_other_owners_memories(context: Context, forever: bool) -> None:
    theirs = await remember(context, "you", Draft("theirs"))
    with pytest.raises(NotFound):
        await forget(context, "me", str(theirs.id), forever=forever)
    assert await find.get(context, "you", str(theirs.id)) == theirs


async def test_what_is_gone_cannot_be_forgotten_again(context: Context) -> None:
    memory = await remember(context, "me", Draft("staging is frozen"))
    await forget(context, "me", str(memory.id))
    with pytest.raises(NotFound):
        await forget(context, "me", str(memory.id))
    await forget(context, "me", str(memory.id), forever=True)
    with pytest.raises(NotFound):
        await forget(context, "me", str(memory.id), forever=True)
