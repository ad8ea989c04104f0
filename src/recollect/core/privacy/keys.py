"""Bearer keys: their format, their roles, and what a server stores. What a key may do is in
`core/privacy/policy.py`.

A key is 256 random bits, so a plain SHA-256 of it cannot be reversed by guessing; slow hashes are
for passwords that people choose. Only that hash is stored.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import MAX_NAME, check_name, check_owner
from recollect.core.text.analysis import find_unstorable

PREFIX: Final = "rk_"
ENTROPY_BYTES: Final = 32
# The longest lifetime of a key that expires: the date of its successor must be valid, too.
MAX_LIFE: Final = timedelta(days=36_500)

Role = Literal["read-only", "member", "admin"]
ROLES: Final[tuple[Role, ...]] = ("read-only", "member", "admin")
"""Each role includes the permissions of those before it."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key as the server knows it. `label` says who or what uses it; a `project` limits it to that
    project. A `revoked_at` in the future is the end of a grace period.
    """

    id: UUID
    owner: str
    digest: bytes
    label: str
    created_at: datetime
    role: Role = "member"
    project: str | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_revoked(self, now: datetime) -> bool:
        return self.revoked_at is not None and self.revoked_at <= now

    def is_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


def parse_role(text: str) -> Role:
    for role in ROLES:
        if role == text:
            return role
    raise InvalidInput(
        f"unknown role {text!r:.60}",
        field="role",
        remedy=f"Choose one of: {', '.join(ROLES)}.",
    )


def check_new_key(key: Key, now: datetime) -> None:
    """Raise InvalidInput if the key is not valid."""
    check_owner(key.owner)
    if len(key.label) > MAX_NAME or find_unstorable(key.label) is not None:
        raise InvalidInput(
            f"a key's label cannot be {key.label!r:.60}",
            field="label",
            remedy=f"Use up to {MAX_NAME} characters of valid text.",
        )
    if key.project is not None:
        check_name(key.project, "project")
        if key.role == "admin":
            raise InvalidInput(
                "an admin key cannot be limited to a project: it manages the whole server",
                field="project",
                remedy="Choose the role member or read-only, or omit the project.",
            )
    if key.is_expired(now):
        raise InvalidInput(
            "the key would expire in the past",
            field="expires_at",
            remedy="Choose a later date, or omit it for a key that does not expire.",
        )
    if key.expires_at is not None and key.expires_at - now > MAX_LIFE:
        raise InvalidInput(
            "the key would expire in more than 100 years",
            field="expires_at",
            remedy="Choose an earlier date, or omit it for a key that does not expire.",
        )


def key_text(entropy: bytes) -> str:
    """Return the text of a key, which its owner sees only once."""
    return PREFIX + urlsafe_b64encode(entropy).decode().rstrip("=")


def digest(key: str) -> bytes:
    # Any text may be sent as a key, even invalid UTF-8: it is simply unknown.
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
