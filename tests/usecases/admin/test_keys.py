from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.strategies import MOMENT

from recollect.core.errors import AmbiguousId, InvalidInput, NotAllowed, NotFound
from recollect.core.memory.memory import Draft
from recollect.usecases.admin.keys import (
    OwnKeys,
    authenticate,
    issue_first_key,
    issue_key,
    key_uses,
    resolve_key,
    revoke_key,
    rotate_key,
)
from recollect.usecases.context import Context
from recollect.usecases.memory.remember import remember
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio


async def test_a_key_names_its_owner(store: InMemoryStore, context: Context) -> None:
    _, mine = await issue_key(store, context.clock, "me", "laptop")
    _, yours = await issue_key(store, context.clock, "you", "phone")
    assert (await authenticate(store, context.clock, mine)).owner == "me"
    assert (await authenticate(store, context.clock, yours)).owner == "you"


async def test_only_the_hash_is_kept(store: InMemoryStore, context: Context) -> None:
    key, text = await issue_key(store, context.clock, "me", "laptop")
    (kept,) = await store.list_keys()
    assert kept == key
    assert text not in repr(kept)
    assert text.removeprefix("rk_") not in repr(kept)


async def test_two_keys_are_never_alike(store: InMemoryStore, context: Context) -> None:
    texts = {(await issue_key(store, context.clock, "me", "same"))[1] for _ in range(20)}
    assert len(texts) == 20


async def test_the_first_key_is_made_once(store: InMemoryStore, context: Context) -> None:
    text = await issue_first_key(store, context.clock, "me")
    assert text is not None
    assert (await authenticate(store, context.clock, text)).owner == "me"
    assert await issue_first_key(store, context.clock, "me") is None


async def test_a_revoked_first_key_does_not_bring_a_new_one(
    store: InMemoryStore, context: Context
) -> None:
    await issue_first_key(store, context.clock, "me")
    (key,) = await store.list_keys()
    await revoke_key(store, context.clock, key.id)
    assert await issue_first_key(store, context.clock, "me") is None


@pytest.mark.parametrize("text", ["", "rk_", "rk_unknown", "\x00", "\ud800", "x" * 100_000])
async def test_key_without_an_owner_is_refused(
    store: InMemoryStore, context: Context, text: str
) -> None:
    await issue_key(store, context.clock, "me", "laptop")
    with pytest.raises(NotAllowed) as refused:
        await authenticate(store, context.clock, text)
    assert "recollect keys create" in refused.value.remedy
    assert not text or text not in str(refused.value)


async def test_a_key_must_match_to_the_last_character(
    store: InMemoryStore, context: Context
) -> None:
    _, text = await issue_key(store, context.clock, "me", "laptop")
    for near in (text[:-1], text + "A", text.swapcase(), f" {text}"):
        with pytest.raises(NotAllowed):
            await authenticate(store, context.clock, near)


async def test_a_revoked_key_is_refused_at_once(store: InMemoryStore, context: Context) -> None:
    key, text = await issue_key(store, context.clock, "me", "laptop")
    _, other = await issue_key(store, context.clock, "me", "phone")
    await revoke_key(store, context.clock, key.id)
    with pytest.raises(NotAllowed):
        await authenticate(store, context.clock, text)
    assert (await authenticate(store, context.clock, other)).owner == "me"


async def test_only_a_key_in_force_can_be_revoked(store: InMemoryStore, context: Context) -> None:
    key, _ = await issue_key(store, context.clock, "me", "laptop")
    await revoke_key(store, context.clock, key.id)
    for id in (key.id, UUID(int=1)):
        with pytest.raises(NotFound):
            await revoke_key(store, context.clock, id)


@pytest.mark.parametrize(
    ("owner", "label", "culprit"),
    [
        (" ", "laptop", "owner"),
        ("me\x00", "laptop", "owner"),
        ("x" * 201, "laptop", "owner"),
        ("me", "\udcff", "label"),
        ("me", "x" * 201, "label"),
    ],
)
async def test_a_key_no_store_could_keep_is_not_made(
    store: InMemoryStore, context: Context, owner: str, label: str, culprit: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await issue_key(store, context.clock, owner, label)
    assert refused.value.field == culprit
    assert await store.list_keys() == []


async def test_an_id_or_any_unambiguous_prefix_means_a_key(
    store: InMemoryStore, context: Context
) -> None:
    one, _ = await issue_key(store, context.clock, " me ", "")
    other, _ = await issue_key(store, context.clock, "me", "phone")
    assert one.owner == "me"
    for key in (one, other):
        for reference in (str(key.id), str(key.id)[:13]):  # they differ by a second
            assert await resolve_key(store, reference) == key.id
    with pytest.raises(AmbiguousId, match=str(other.id)):
        await resolve_key(store, str(one.id)[:4])
    with pytest.raises(NotFound):
        await resolve_key(store, "ffff")


async def test_what_is_no_id_of_a_key_leads_to_the_list_of_keys(store: InMemoryStore) -> None:
    with pytest.raises(InvalidInput) as raised:
        await resolve_key(store, "ana's laptop")
    assert "recollect keys list" in raised.value.remedy


async def test_the_first_key_is_an_admin_and_others_are_members(
    store: InMemoryStore, context: Context
) -> None:
    await issue_first_key(store, context.clock, "me")
    await issue_key(store, context.clock, "me", "laptop")
    assert [key.role for key in await store.list_keys()] == ["admin", "member"]


async def test_an_expired_key_is_refused_with_its_date(
    store: InMemoryStore, context: Context
) -> None:
    soon = context.clock.now() + timedelta(seconds=5)
    key, text = await issue_key(store, context.clock, "me", "", expires_at=soon)
    assert await authenticate(store, context.clock, text) == key
    while context.clock.now() < soon:
        pass
    with pytest.raises(NotAllowed, match=f"expired on {soon:%Y-%m-%d}") as refused:
        await authenticate(store, context.clock, text)
    assert f"recollect keys rotate {key.id}" in refused.value.remedy


@pytest.mark.parametrize(
    ("asked", "culprit"),
    [
        ({"role": "root"}, "role"),
        ({"project": " "}, "project"),
        ({"role": "admin", "project": "shop"}, "project"),
        ({"expires_at": MOMENT - timedelta(days=1)}, "expires_at"),
        ({"expires_at": datetime(2027, 1, 1)}, "expires_at"),  # noqa: DTZ001  # without a zone
    ],
)
async def test_a_key_that_makes_no_sense_is_not_made(
    store: InMemoryStore, context: Context, asked: dict[str, Any], culprit: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await issue_key(store, context.clock, "me", "", **asked)
    assert refused.value.field == culprit
    assert await store.list_keys() == []


async def test_a_rotated_key_keeps_its_limits_and_gets_a_new_text(
    store: InMemoryStore, context: Context
) -> None:
    life = timedelta(days=90)
    old, text = await issue_key(
        store,
        context.clock,
        "me",
        "laptop",
        role="read-only",
        project="shop",
        expires_at=context.clock.now() + life,
    )
    new, renewed = await rotate_key(store, context.clock, str(old.id))
    assert renewed != text
    same = ("owner", "label", "role", "project")
    assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
    assert new.expires_at is not None
    assert new.expires_at - new.created_at == pytest.approx(life, abs=timedelta(seconds=5))
    assert await authenticate(store, context.clock, renewed) == new
    with pytest.raises(NotAllowed):
        await authenticate(store, context.clock, text)
    with pytest.raises(NotFound):
        await rotate_key(store, context.clock, str(old.id))


async def test_a_key_cannot_expire_in_more_than_a_hundred_years(
    store: InMemoryStore, context: Context
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await issue_key(
            store, context.clock, "me", "", expires_at=datetime(9999, 12, 31, tzinfo=MOMENT.tzinfo)
        )
    assert refused.value.field == "expires_at"
    assert await store.list_keys() == []


async def test_of_two_rotations_at_once_the_second_stores_nothing(
    store: InMemoryStore, context: Context
) -> None:
    old, _ = await issue_key(store, context.clock, "me", "laptop")
    await rotate_key(store, context.clock, str(old.id), timedelta(days=7))
    with pytest.raises(NotFound):
        await rotate_key(store, context.clock, str(old.id), timedelta(days=1))
    assert len(await store.list_keys()) == 2


async def test_the_project_of_a_key_may_be_named_in_short(
    store: InMemoryStore, context: Context
) -> None:
    whole = "github.com/ada/shop"
    await remember(context, "ada", Draft("the harbour is closed", project=whole))
    keys = OwnKeys(store, context, "ada")
    assert (await keys.create(project="shop"))[0].project == whole
    assert (await keys.create("bob", project="shop"))[0].project == "shop"
    assert (await keys.create(project="web"))[0].project == "web"


async def test_a_rotated_key_is_valid_for_its_grace_period(
    store: InMemoryStore, context: Context
) -> None:
    old, text = await issue_key(store, context.clock, "me", "laptop")
    await rotate_key(store, context.clock, str(old.id), timedelta(seconds=10))
    until = context.clock.now() + timedelta(seconds=10)
    assert (await authenticate(store, context.clock, text)).id == old.id
    while context.clock.now() < until:
        pass
    with pytest.raises(NotAllowed):
        await authenticate(store, context.clock, text)


async def test_a_key_in_its_grace_period_can_be_revoked_at_once(
    store: InMemoryStore, context: Context
) -> None:
    old, text = await issue_key(store, context.clock, "me", "laptop")
    await rotate_key(store, context.clock, str(old.id), timedelta(days=7))
    await revoke_key(store, context.clock, old.id)
    with pytest.raises(NotAllowed):
        await authenticate(store, context.clock, text)


async def test_uses_of_keys_are_written_together_and_at_the_end(
    store: InMemoryStore, context: Context
) -> None:
    one, _ = await issue_key(store, context.clock, "me", "")
    other, _ = await issue_key(store, context.clock, "me", "")
    async with key_uses(store, context.clock) as uses:
        uses.note(one.id)
        uses.note(one.id)
        assert [key.last_used_at for key in await store.list_keys()] == [None, None]
        await asyncio.sleep(61)  # the loop's own time, which does not pass
        first = {key.id: key.last_used_at for key in await store.list_keys()}
        assert first[one.id] is not None
        assert first[other.id] is None
        uses.note(other.id)
    last = {key.id: key.last_used_at for key in await store.list_keys()}
    assert last[other.id] is not None
