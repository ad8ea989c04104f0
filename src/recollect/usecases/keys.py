"""Issue, list and revoke the keys of a server, and find the key that a text is."""

from __future__ import annotations

import hmac
import os
from uuid import UUID

from recollect.core.errors import NotAllowed, NotFound
from recollect.core.ids import IdPrefix, uuid7
from recollect.core.keys import ENTROPY_BYTES, Key, check_names, digest, key_text
from recollect.ports import Clock, KeyStore


async def issue_key(keys: KeyStore, clock: Clock, owner: str, label: str) -> tuple[Key, str]:
    """A new key, and its text: the only time anybody sees it."""
    key, text = _new_key(clock, owner, label)
    await keys.add_key(key)
    return key, text


async def issue_first_key(keys: KeyStore, clock: Clock, owner: str) -> str | None:
    """The first key's text when the server has none yet."""
    key, text = _new_key(clock, owner, "first key")
    return text if await keys.add_first_key(key) else None


def _new_key(clock: Clock, owner: str, label: str) -> tuple[Key, str]:
    owner, label = owner.strip(), label.strip()
    check_names(owner, label)
    now = clock.now()
    text = key_text(os.urandom(ENTROPY_BYTES))
    return Key(uuid7(now, os.urandom(10)), owner, digest(text), label, now), text


async def key_of(keys: KeyStore, text: str) -> Key:
    """The key with this text; NotAllowed when none in force has it. The store is asked for a hash,
    and the hash it answers with is compared in constant time: timing tells nothing about a key.
    """
    wanted = digest(text)
    key = await keys.find_key(wanted)
    if key is None or not hmac.compare_digest(key.digest, wanted) or key.revoked_at is not None:
        raise NotAllowed(
            "this key is not known here",
            remedy="Put a key of this server into RECOLLECT_API_KEY, or send it as "
            "`Authorization: Bearer KEY`; `recollect keys new` on the server makes one.",
        )
    return key


async def revoke_key(keys: KeyStore, clock: Clock, id: UUID) -> None:
    if not await keys.revoke_key(id, clock.now()):
        raise NotFound("there is no such key in force", remedy="See `recollect keys list`.")


async def resolve_key(keys: KeyStore, reference: str) -> UUID:
    """The id of the key that a reference means: an id, or any unambiguous prefix of one."""
    prefix = IdPrefix.parse(reference, shown_by="recollect keys list")
    fitting = [key.id for key in await keys.list_keys() if prefix.low <= key.id <= prefix.high]
    id = prefix.only(fitting, "keys")
    if id is None:
        raise NotFound(f"there is no key {prefix.text}", remedy="See `recollect keys list`.")
    return id
