from __future__ import annotations

from uuid import UUID

import pytest
from tests.strategies import new_id

from recollect.core.errors import Conflict, InvalidInput
from recollect.core.memory.batch import MAX_BATCH, BatchItem
from recollect.core.memory.memory import EVERYWHERE, Draft
from recollect.usecases.context import Context
from recollect.usecases.memory.change import forget, update
from recollect.usecases.memory.find import get, page
from recollect.usecases.memory.remember import remember, remember_many

pytestmark = pytest.mark.anyio


async def contents(context: Context, owner: str = "me") -> list[str]:
    listed = await page(context, owner, EVERYWHERE, None, 500)
    return [memory.content for memory in listed.memories]


async def test_a_batch_stores_what_is_right_and_refuses_the_rest(context: Context) -> None:
    unread = InvalidInput("not a memory", field="memory", remedy="Correct it.")
    bad_id = UUID("6f6e4b3c-0000-4000-8000-000000000000")
    batch: list[BatchItem] = [
        Draft("tea"),
        Draft("  "),
        unread,
        Draft("milk", id=bad_id),
        Draft("rye bread"),
    ]
    results = await remember_many(context, "me", batch)
    assert [result.outcome for result in results] == [
        "stored",
        "refused",
        "refused",
        "refused",
        "stored",
    ]
    assert [getattr(result.error, "field", None) for result in results] == [
        None,
        "content",
        "memory",
        "id",
        None,
    ]
    assert all(result.error.remedy for result in results if result.error)
    assert [results[1].id, results[3].id] == [None, bad_id]
    assert await contents(context) == ["rye bread", "tea"]


async def test_a_batch_keeps_its_order(context: Context) -> None:
    texts = [f"turn {number}" for number in range(50)]
    await remember_many(context, "me", [Draft(text) for text in texts])
    assert await contents(context) == texts[::-1]


async def test_repeating_a_batch_with_ids_changes_nothing(context: Context) -> None:
    batch = [Draft(f"fact {number}", id=new_id()) for number in range(3)]
    first = await remember_many(context, "me", batch)
    again = await remember_many(context, "me", batch)
    assert [result.outcome for result in first] == ["stored"] * 3
    assert [result.outcome for result in again] == ["present"] * 3
    assert [result.id for result in again] == [draft.id for draft in batch]
    assert len(await contents(context)) == 3


async def test_an_id_that_is_taken_is_refused(context: Context) -> None:
    twin, changed, gone = (new_id() for _ in range(3))
    await remember(context, "me", Draft("old", id=changed))
    await update(context, "me", str(changed), {"content": "new"})
    await remember(context, "me", Draft("gone", id=gone))
    await forget(context, "me", str(gone))
    batch = [
        Draft("one", id=twin),
        Draft("other", id=twin),
        Draft("one", id=twin),
        Draft("old", id=changed),
        Draft("gone", id=gone),
    ]
    results = await remember_many(context, "me", batch)
    assert [result.outcome for result in results] == [
        "stored",
        "refused",
        "present",
        "refused",
        "refused",
    ]
    assert all(
        isinstance(result.error, Conflict) for result in results if result.outcome == "refused"
    )
    assert "changed since" in str(results[3].error)
    assert "forgotten since" in str(results[4].error)


async def test_secret_makes_its_memory_sensitive_with_the_reason(context: Context) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    results = await remember_many(
        context, "me", [Draft(f"token {token}"), Draft(f"no token {token}", is_sensitive=False)]
    )
    assert [result.secret is not None for result in results] == [True, False]
    listed = (await page(context, "me", EVERYWHERE, None, 10)).memories
    assert [memory.is_sensitive for memory in listed] == [False, True]


async def test_a_batch_has_a_limit(context: Context) -> None:
    with pytest.raises(InvalidInput, match="501") as refused:
        await remember_many(context, "me", [Draft("x")] * (MAX_BATCH + 1))
    assert "500" in refused.value.remedy
    assert await contents(context) == []


async def test_a_text_that_is_known_stays_one_memory(context: Context) -> None:
    known = await remember(context, "me", Draft("tea", tags=("drinks",)))
    batch = [Draft("tea", tags=("hot",)), Draft("milk"), Draft("milk "), Draft("tea", id=new_id())]
    results = await remember_many(context, "me", batch)
    assert [result.outcome for result in results] == ["present", "stored", "present", "stored"]
    assert results[0].id == known.id
    assert results[2].id == results[1].id
    assert sorted(await contents(context)) == ["milk", "tea", "tea"]
    assert set((await get(context, "me", str(known.id))).tags) == {"drinks", "hot"}
    again = await remember_many(context, "me", batch[:3])
    assert [result.outcome for result in again] == ["present"] * 3


async def test_a_known_text_that_cannot_take_more_tags_is_refused_alone(context: Context) -> None:
    most = context.limits.words
    await remember(context, "me", Draft("tea", tags=tuple(f"tag{n}" for n in range(most))))
    batch = [Draft("milk"), Draft("tea", tags=("one more",)), Draft("rye bread")]
    results = await remember_many(context, "me", batch)
    assert [result.outcome for result in results] == ["stored", "refused", "stored"]
    assert isinstance(results[1].error, InvalidInput)
    assert sorted(await contents(context)) == ["milk", "rye bread", "tea"]
