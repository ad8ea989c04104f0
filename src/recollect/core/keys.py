"""Bearer keys: what one looks like, and what a server keeps of it.

A key is 256 random bits, so a plain SHA-256 of it cannot be reversed by guessing; slow hashes are
for passwords that people choose. Only that hash is stored.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.owner import MAX_NAME, check_owner
from recollect.core.text import unstorable

PREFIX: Final = "rk_"
ENTROPY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Key:
    """A key as the server knows it. `label` says who or what uses it."""

    id: UUID
    owner: str
    digest: bytes
    label: str
    created_at: datetime
    revoked_at: datetime | None = None


def check_names(owner: str, label: str) -> None:
    """InvalidInput when a key cannot be made for this owner or under this label."""
    check_owner(owner)
    if len(label) > MAX_NAME or unstorable(label) is not None:
        raise InvalidInput(
            f"a key's label cannot be {label!r:.60}",
            field="label",
            remedy=f"Give up to {MAX_NAME} characters of valid text.",
        )


def key_text(entropy: bytes) -> str:
    """The text its owner is shown once."""
    return PREFIX + urlsafe_b64encode(entropy).decode().rstrip("=")


def digest(key: str) -> bytes:
    # Any text may be shown as a key, also one that is no valid UTF-8: it is merely not known.
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
