from __future__ import annotations

from uuid import UUID

import pytest

from recollect.adapters.in_memory import InMemoryStore
from recollect.core.errors import AmbiguousId, InvalidInput, NotAllowed, NotFound
from recollect.usecases.keys import issue_first_key, issue_key, key_of, resolve_key, revoke_key
from recollect.usecases.parts import Parts

pytestmark = pytest.mark.anyio


async def test_a_key_names_its_owner(store: InMemoryStore, parts: Parts) -> None:
    _, mine = await issue_key(store, parts.clock, "me", "laptop")
    _, yours = await issue_key(store, parts.clock, "you", "phone")
    assert (await key_of(store, mine)).owner == "me"
    assert (await key_of(store, yours)).owner == "you"


async def test_only_the_hash_is_kept(store: InMemoryStore, parts: Parts) -> None:
    key, text = await issue_key(store, parts.clock, "me", "laptop")
    (kept,) = await store.list_keys()
    assert kept == key
    assert text not in repr(kept)
    assert text.removeprefix("rk_") not in repr(kept)


async def test_two_keys_are_never_alike(store: InMemoryStore, parts: Parts) -> None:
    texts = {(await issue_key(store, parts.clock, "me", "same"))[1] for _ in range(20)}
    assert len(texts) == 20


async def test_the_first_key_is_made_once(store: InMemoryStore, parts: Parts) -> None:
    text = await issue_first_key(store, parts.clock, "me")
    assert text is not None
    assert (await key_of(store, text)).owner == "me"
    assert await issue_first_key(store, parts.clock, "me") is None


async def test_a_revoked_first_key_does_not_bring_a_new_one(
    store: InMemoryStore, parts: Parts
) -> None:
    await issue_first_key(store, parts.clock, "me")
    (key,) = await store.list_keys()
    await revoke_key(store, parts.clock, key.id)
    assert await issue_first_key(store, parts.clock, "me") is None


@pytest.mark.parametrize("text", ["", "rk_", "rk_unknown", "\x00", "\ud800", "x" * 100_000])
async def test_a_key_that_is_nobodys_is_refused(
    store: InMemoryStore, parts: Parts, text: str
) -> None:
    await issue_key(store, parts.clock, "me", "laptop")
    with pytest.raises(NotAllowed) as refused:
        await key_of(store, text)
    assert "recollect keys new" in refused.value.remedy
    assert not text or text not in str(refused.value)


async def test_a_key_must_match_to_the_last_character(store: InMemoryStore, parts: Parts) -> None:
    _, text = await issue_key(store, parts.clock, "me", "laptop")
    for near in (text[:-1], text + "A", text.swapcase(), f" {text}"):
        with pytest.raises(NotAllowed):
            await key_of(store, near)


async def test_a_revoked_key_is_refused_at_once(store: InMemoryStore, parts: Parts) -> None:
    key, text = await issue_key(store, parts.clock, "me", "laptop")
    _, other = await issue_key(store, parts.clock, "me", "phone")
    await revoke_key(store, parts.clock, key.id)
    with pytest.raises(NotAllowed):
        await key_of(store, text)
    assert (await key_of(store, other)).owner == "me"


async def test_only_a_key_in_force_can_be_revoked(store: InMemoryStore, parts: Parts) -> None:
    key, _ = await issue_key(store, parts.clock, "me", "laptop")
    await revoke_key(store, parts.clock, key.id)
    for id in (key.id, UUID(int=1)):
        with pytest.raises(NotFound):
            await revoke_key(store, parts.clock, id)


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
    store: InMemoryStore, parts: Parts, owner: str, label: str, culprit: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await issue_key(store, parts.clock, owner, label)
    assert refused.value.field == culprit
    assert await store.list_keys() == []


async def test_an_id_or_any_unambiguous_prefix_means_a_key(
    store: InMemoryStore, parts: Parts
) -> None:
    one, _ = await issue_key(store, parts.clock, " me ", "")
    other, _ = await issue_key(store, parts.clock, "me", "phone")
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
