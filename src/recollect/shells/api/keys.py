"""Manage the server's keys: list, create, rotate, revoke. For admins only."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from recollect.core.privacy.keys import Key
from recollect.ports.keys import Keys
from recollect.shells.api.context import Mine, TheServer, needs
from recollect.shells.api.openapi import OWNED, PREFIX, REFERRED, SENT, example, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.usecases.admin.keys import OwnKeys
from recollect.wire.admin import (
    KEYS,
    NEW_KEY,
    REVOKED,
    KeyIn,
    NewKey,
    Revoked,
    RotateIn,
)
from recollect.wire.values import REFERENCE

router = APIRouter(prefix=PREFIX, tags=["Keys"])


async def _keys(server: TheServer, mine: Mine) -> Keys:
    return OwnKeys(server.keys, mine.context_for("manage_keys"), mine.owner)


TheKeys = Annotated[Keys, Depends(_keys)]
Reference = Annotated[
    str,
    Path(
        description="A key's id, or at least 4 digits of its end.",
        examples=["019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9e"],
        json_schema_extra={"pattern": REFERENCE},
    ),
]


@router.get(
    "/keys",
    operation_id="list_keys",
    **needs("manage_keys"),
    summary="List",
    response_model=KEYS.shape,
    responses={200: example("keys", "The keys."), **problems(*OWNED)},
)
async def list_keys(keys: TheKeys, server: TheServer) -> list[Key]:
    """List all keys of the server, oldest first, without their text."""
    if server.key_uses is not None:
        await server.key_uses.write()  # the caller's own key was just used
    return [*await keys.list()]


@router.post(
    "/keys",
    operation_id="create_key",
    **needs("manage_keys"),
    summary="Create",
    response_model=NEW_KEY.shape,
    status_code=201,
    responses={
        201: example("new_key", "The key, with its text."),
        **problems(*SENT, MALFORMED),
    },
)
async def create_key(sent: KeyIn, keys: TheKeys) -> NewKey:
    """Create a key. Its text is only in this answer."""
    created = await keys.create(
        sent.owner,
        sent.label,
        role=sent.role,
        project=sent.project,
        expires_at=sent.expires_at,
    )
    return NewKey(*created)


@router.post(
    "/keys/{reference}/rotate",
    operation_id="rotate_key",
    **needs("manage_keys"),
    summary="Rotate",
    response_model=NEW_KEY.shape,
    status_code=201,
    responses={
        201: example("new_key", "The new key, with its text."),
        **problems(*SENT, MALFORMED, *REFERRED),
    },
)
async def rotate_key(reference: Reference, sent: RotateIn, keys: TheKeys) -> NewKey:
    """Create a key like this one and revoke this one, immediately or after a grace period. A key
    that expires gets as long a lifetime as the old one had.
    """
    return NewKey(*await keys.rotate(reference, sent.to_grace()))


@router.delete(
    "/keys/{reference}",
    operation_id="revoke_key",
    **needs("manage_keys"),
    summary="Revoke",
    response_model=REVOKED.shape,
    responses={
        200: example("revoked", "The key that was revoked."),
        **problems(*SENT, *REFERRED),
    },
)
async def revoke_key(reference: Reference, keys: TheKeys) -> Revoked:
    """Revoke a key, immediately and permanently."""
    return Revoked(await keys.revoke(reference))
