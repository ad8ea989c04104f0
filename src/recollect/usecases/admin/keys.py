"""Create, list, rotate and revoke the keys of a server, and authenticate requests."""

from __future__ import annotations

import hmac
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from recollect.core.errors import InvalidInput, NotAllowed, NotFound, StoreError
from recollect.core.memory.ids import IdPart, uuid7
from recollect.core.memory.memory import check_moment, check_name
from recollect.core.privacy.keys import (
    ENTROPY_BYTES,
    MAX_LIFE,
    Key,
    check_new_key,
    digest,
    key_text,
    parse_role,
)
from recollect.ports.keys import KeyStore
from recollect.ports.stores import Clock
from recollect.usecases.context import Context
from recollect.usecases.memory.projects import resolve_project
from recollect.usecases.tasks import repeating

MAX_GRACE = timedelta(days=365)
_NEW_KEY = "An admin creates one with `recollect keys create`"


@dataclass(frozen=True, slots=True)
class OwnKeys:
    """Implements the `Keys` port on this machine's store. Without an explicit owner, a key belongs
    to `owner`. A project may be given by its short name, as everywhere.
    """

    store: KeyStore
    context: Context
    owner: str

    async def list(self) -> Sequence[Key]:
        return await self.store.list_keys()

    async def create(
        self,
        owner: str | None = None,
        label: str = "",
        *,
        role: str = "member",
        project: str | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[Key, str]:
        whose = self.owner if owner is None else owner
        if project is not None:
            project = await resolve_project(
                self.context.store, whose.strip(), check_name(project, "project")
            )
        return await issue_key(
            self.store,
            self.context.clock,
            whose,
            label,
            role=role,
            project=project,
            expires_at=expires_at,
        )

    async def rotate(self, reference: str, grace: timedelta) -> tuple[Key, str]:
        return await rotate_key(self.store, self.context.clock, reference, grace)

    async def revoke(self, reference: str) -> UUID:
        id = await resolve_key(self.store, reference)
        await revoke_key(self.store, self.context.clock, id)
        return id


async def issue_key(
    keys: KeyStore,
    clock: Clock,
    owner: str,
    label: str,
    *,
    role: str = "member",
    project: str | None = None,
    expires_at: datetime | None = None,
) -> tuple[Key, str]:
    """Create a key; return it with its text, which is not available again."""
    key, text = _new_key(clock, owner, label, role, project, expires_at)
    await keys.add_key(key)
    return key, text


async def issue_first_key(keys: KeyStore, clock: Clock, owner: str) -> str | None:
    """Create an admin key if the server has no key yet; return its text, or None."""
    key, text = _new_key(clock, owner, "first key", "admin")
    return text if await keys.add_first_key(key) else None


def _new_key(
    clock: Clock,
    owner: str,
    label: str,
    role: str,
    project: str | None = None,
    expires_at: datetime | None = None,
) -> tuple[Key, str]:
    now = clock.now()
    text = key_text(os.urandom(ENTROPY_BYTES))
    key = Key(
        uuid7(now, os.urandom(10)),
        owner.strip(),
        digest(text),
        label.strip(),
        now,
        parse_role(role),
        None if project is None else project.strip(),
        check_moment(expires_at, "expires_at"),
    )
    check_new_key(key, now)
    return key, text


async def authenticate(keys: KeyStore, clock: Clock, text: str) -> Key:
    """Return the key with this text; raise NotAllowed if none is valid. The store looks up a hash,
    and the result is compared in constant time, so that timing reveals nothing about a key.
    """
    hashed = digest(text)
    now = clock.now()
    key = await keys.find_key(hashed)
    if key is None or not hmac.compare_digest(key.digest, hashed) or key.is_revoked(now):
        raise NotAllowed(
            "unknown key",
            remedy="Set RECOLLECT_API_KEY to a key of this server, or send it as `Authorization: "
            f"Bearer KEY`. {_NEW_KEY}.",
        )
    if key.is_expired(now):
        raise NotAllowed(
            f"this key expired on {key.expires_at:%Y-%m-%d}",
            remedy=f"Use another key. {_NEW_KEY}, or renews this one with "
            f"`recollect keys rotate {key.id}`.",
        )
    return key


async def rotate_key(
    keys: KeyStore, clock: Clock, reference: str, grace: timedelta = timedelta(0)
) -> tuple[Key, str]:
    """Replace a key by one with the same owner, label, role and project and a new text. The old one
    stays valid for the grace period, and cannot be rotated again. If it had an expiry, the new key
    gets the same lifetime.
    """
    if not timedelta(0) <= grace <= MAX_GRACE:
        raise InvalidInput(
            f"a grace period cannot be {grace}",
            field="grace",
            remedy=f"Use up to {MAX_GRACE.days} days, or 0 to revoke the old key at once.",
        )
    id = await resolve_key(keys, reference)
    old = next(key for key in await keys.list_keys() if key.id == id)
    now = clock.now()
    if old.is_revoked(now):
        raise _no_valid_key()
    expires_at = None
    if old.expires_at is not None:
        expires_at = now + min(old.expires_at - old.created_at, MAX_LIFE)
    new, text = _new_key(clock, old.owner, old.label, old.role, old.project, expires_at)
    if not await keys.replace_key(id, now + grace, new):
        raise _no_valid_key()
    return new, text


async def revoke_key(keys: KeyStore, clock: Clock, id: UUID) -> None:
    """Revoke a key at once."""
    if not await keys.revoke_key(id, clock.now()):
        raise _no_valid_key()


def _no_valid_key() -> NotFound:
    return NotFound(
        "there is no such valid key", remedy="Run `recollect keys list` to see the keys."
    )


async def resolve_key(keys: KeyStore, reference: str) -> UUID:
    """Return the id of a key that is referred to by its id or the end of it."""
    prefix = IdPart.parse(reference, shown_by="recollect keys list")
    id = prefix.only(prefix.select(key.id for key in await keys.list_keys()), "keys")
    if id is None:
        raise NotFound(
            f"there is no key {prefix.text}", remedy="Run `recollect keys list` to see the keys."
        )
    return id


# Record when each key was last used, without delaying any request. Uses are collected here and
# written once a minute, and when the server stops. A crash loses at most the last minute.

_WRITE_EVERY_SECONDS: Final = 60.0


class KeyUses:
    """Use it within `key_uses`."""

    def __init__(self, keys: KeyStore, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._used: dict[UUID, datetime] = {}

    def note(self, id: UUID) -> None:
        self._used[id] = self._clock.now()

    async def write(self) -> None:
        used, self._used = self._used, {}
        if not used:
            return
        try:
            await self._keys.note_key_uses(used)
        except StoreError:
            self._used = used | self._used  # next time


@asynccontextmanager
async def key_uses(keys: KeyStore, clock: Clock) -> AsyncIterator[KeyUses]:
    """Inside the block, write recorded uses every minute; write the rest at the end."""
    uses = KeyUses(keys, clock)
    async with repeating(uses.write, _WRITE_EVERY_SECONDS):
        yield uses
