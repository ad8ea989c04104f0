"""Runtime settings as rows, and the keys of the stores that have them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from tests.strategies import MOMENT

from recollect.core.privacy.keys import Key, digest
from recollect.core.recall.settings import SettingChange
from recollect.ports.keys import KeyStore
from recollect.ports.stores import SettingsStore

pytestmark = pytest.mark.anyio


async def test_settings_are_empty_until_one_is_changed(store: SettingsStore) -> None:
    assert await store.read_settings() == {}


async def test_settings_keep_their_values_and_kinds(store: SettingsStore) -> None:
    values = {"lexical_weight": 1.25, "rrf_k": 10, "fusion": "convex", "flag": True, "none": None}
    await store.write_settings(values, by="ada", at=MOMENT)
    read = await store.read_settings()
    assert read == values
    assert [type(read[name]) for name in values] == [float, int, str, bool, type(None)]


async def test_writing_settings_leaves_the_others_alone(store: SettingsStore) -> None:
    await store.write_settings({"rrf_k": 10, "depth": 50}, by="ada", at=MOMENT)
    await store.write_settings({"rrf_k": 20}, by="ada", at=MOMENT)
    await store.write_settings({}, by="ada", at=MOMENT)
    assert await store.read_settings() == {"rrf_k": 20, "depth": 50}


async def test_settings_are_written_all_or_none(store: SettingsStore) -> None:
    """Two writers of the same pair: the pair that is read was written by one of them."""
    pairs = [{"rrf_k": number, "depth": number} for number in range(1, 9)]
    await asyncio.gather(*(store.write_settings(pair, by="ada", at=MOMENT) for pair in pairs))
    read = await store.read_settings()
    assert read["rrf_k"] == read["depth"]


async def test_the_log_says_who_changed_what_newest_first(store: SettingsStore) -> None:
    later = MOMENT + timedelta(seconds=1)
    assert await store.settings_log(10) == []
    await store.write_settings({"rrf_k": 10, "fusion": "convex"}, by="ada", at=MOMENT)
    await store.write_settings({"rrf_k": 20, "second_stage": "off"}, by="bob ü", at=later)
    newest = await store.settings_log(10)
    assert newest == [
        SettingChange("second_stage", None, "off", "bob ü", later),
        SettingChange("rrf_k", 10, 20, "bob ü", later),
        SettingChange("fusion", None, "convex", "ada", MOMENT),
        SettingChange("rrf_k", None, 10, "ada", MOMENT),
    ]
    assert await store.settings_log(1) == newest[:1]


async def test_setting_the_same_value_again_is_no_change(store: SettingsStore) -> None:
    await store.write_settings({"rrf_k": 10}, by="ada", at=MOMENT)
    await store.write_settings({"rrf_k": 10, "depth": 80}, by="bob", at=MOMENT)
    assert [(entry.name, entry.by) for entry in await store.settings_log(10)] == [
        ("depth", "bob"),
        ("rrf_k", "ada"),
    ]


async def test_each_change_logs_the_value_it_really_replaced(store: SettingsStore) -> None:
    """However many writers change the same setting at once, the log is one chain of values."""
    numbers = range(1, 9)
    writes = (store.write_settings({"rrf_k": n}, by=str(n), at=MOMENT) for n in numbers)
    await asyncio.gather(*writes)
    chain = list(reversed(await store.settings_log(100)))
    assert [entry.old for entry in chain] == [None, *(entry.new for entry in chain[:-1])]
    assert sorted(entry.new for entry in chain if isinstance(entry.new, int)) == list(numbers)
    assert (await store.read_settings())["rrf_k"] == chain[-1].new


def key(number: int) -> Key:
    created_at = MOMENT + timedelta(seconds=-number)
    return Key(UUID(int=number), f"owner {number}", digest(f"rk_{number}"), "laptop ü", created_at)


async def test_a_key_is_found_by_its_hash_alone(key_store: KeyStore) -> None:
    await key_store.add_key(key(1))
    await key_store.add_key(key(2))
    assert await key_store.find_key(digest("rk_1")) == key(1)
    assert await key_store.find_key(digest("rk_3")) is None
    assert await key_store.find_key(b"") is None


async def test_of_many_first_keys_one_is_kept(key_store: KeyStore) -> None:
    kept = await asyncio.gather(*(key_store.add_first_key(key(number)) for number in range(1, 7)))
    assert kept.count(True) == 1
    assert list(await key_store.list_keys()) == [key(1 + kept.index(True))]
    await key_store.revoke_key(UUID(int=1 + kept.index(True)), MOMENT)
    assert not await key_store.add_first_key(key(9))


async def test_keys_are_listed_oldest_first(key_store: KeyStore) -> None:
    assert list(await key_store.list_keys()) == []
    for number in (1, 3, 2):
        await key_store.add_key(key(number))
    assert list(await key_store.list_keys()) == [key(3), key(2), key(1)]


async def test_a_key_is_revoked_once_and_still_known(key_store: KeyStore) -> None:
    await key_store.add_key(key(1))
    assert await key_store.revoke_key(UUID(int=1), MOMENT)
    assert not await key_store.revoke_key(UUID(int=1), MOMENT + timedelta(days=1))
    assert not await key_store.revoke_key(UUID(int=2), MOMENT)
    revoked = replace(key(1), revoked_at=MOMENT)
    assert await key_store.find_key(digest("rk_1")) == revoked
    assert list(await key_store.list_keys()) == [revoked]


async def test_a_key_keeps_what_it_may_do(key_store: KeyStore) -> None:
    limited = replace(
        key(1), role="read-only", project="shop ü", expires_at=MOMENT + timedelta(days=90)
    )
    await key_store.add_key(limited)
    await key_store.add_key(replace(key(2), role="admin"))
    assert await key_store.find_key(digest("rk_1")) == limited
    assert [key.role for key in await key_store.list_keys()] == ["admin", "read-only"]


async def test_a_grace_period_can_be_ended_sooner_and_not_later(key_store: KeyStore) -> None:
    await key_store.add_key(key(1))
    for days, is_taken in ((7, True), (8, False), (1, True)):
        assert await key_store.revoke_key(UUID(int=1), MOMENT + timedelta(days=days)) is is_taken
    (kept,) = await key_store.list_keys()
    assert kept.revoked_at == MOMENT + timedelta(days=1)


async def test_of_many_that_replace_a_key_one_does(key_store: KeyStore) -> None:
    await key_store.add_key(key(1))
    replaced = await asyncio.gather(
        *(
            key_store.replace_key(UUID(int=1), MOMENT + timedelta(days=9 - number), key(number))
            for number in range(2, 8)
        )
    )
    assert replaced.count(True) == 1
    new = 2 + replaced.index(True)
    revoked = replace(key(1), revoked_at=MOMENT + timedelta(days=9 - new))
    assert list(await key_store.list_keys()) == [key(new), revoked]
    assert not await key_store.replace_key(UUID(int=99), MOMENT, key(98))


async def test_the_last_use_of_each_key_is_kept(key_store: KeyStore) -> None:
    for number in (1, 2):
        await key_store.add_key(key(number))
    await key_store.note_key_uses({UUID(int=1): MOMENT, UUID(int=7): MOMENT})
    by_id = {key.id.int: key.last_used_at for key in await key_store.list_keys()}
    assert by_id == {1: MOMENT, 2: None}
    later = MOMENT + timedelta(minutes=1)
    await key_store.note_key_uses({UUID(int=1): later, UUID(int=2): MOMENT})
    by_id = {key.id.int: key.last_used_at for key in await key_store.list_keys()}
    assert by_id == {1: later, 2: MOMENT}
