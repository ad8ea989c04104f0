"""The keys of a server, as an admin sees and creates them."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field

from recollect.core.memory.owner import MAX_NAME
from recollect.core.privacy.keys import ROLES, Key, Role
from recollect.wire.values import Input, Moment, Name, Shape, Whole

_Name = Annotated[Name, Field(json_schema_extra={"maxLength": MAX_NAME})]


class KeyOut(Shape):
    """A key, without its text. `last_used_at` is at most a minute late; a `revoked_at` in the
    future is the end of a grace period.
    """

    id: UUID
    owner: str
    label: str
    role: Role
    project: str | None
    created_at: Moment
    expires_at: Moment | None
    last_used_at: Moment | None
    revoked_at: Moment | None

    @classmethod
    def from_key(cls, key: Key) -> KeyOut:
        return cls.model_validate({name: getattr(key, name) for name in KeyOut.model_fields})

    def to_key(self) -> Key:
        return Key(digest=b"", **{name: getattr(self, name) for name in KeyOut.model_fields})


class NewKeyOut(KeyOut):
    """A new key with its text, which is shown only once."""

    key: str = Field(description="The key's text; the server stores only a hash of it.")

    @classmethod
    def from_new(cls, key: Key, text: str) -> NewKeyOut:
        return cls(**KeyOut.from_key(key).model_dump(), key=text)


class KeysOut(Shape):
    """All keys of the server, oldest first."""

    keys: list[KeyOut]


class KeyIn(Input):
    """A key to create."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"owner": "ana", "label": "phone", "role": "member"}]}
    )

    owner: _Name | None = Field(
        default=None,
        description="Owner whose memories it opens; by default the owner of the key in use.",
    )
    label: str = Field(
        default="",
        description="Who or what will use the key.",
        json_schema_extra={"maxLength": MAX_NAME, "pattern": r"^[^\x00]*$"},
    )
    role: str = Field(
        default="member",
        description="read-only: recall, list, get; member: also write; admin: also manage "
        "settings, keys and models.",
        json_schema_extra={"enum": [*ROLES]},
    )
    project: Name | None = Field(default=None, description="Limit the key to this project.")
    expires_at: Moment | None = Field(
        default=None, description="If omitted, the key does not expire."
    )


class RotateIn(Input):
    """How to rotate a key."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"grace_seconds": 86_400}]})

    grace_seconds: Whole = Field(
        default=0,
        description="How long the old key stays valid; 0 revokes it at once.",
        json_schema_extra={"minimum": 0, "maximum": 31_536_000},
    )

    def to_grace(self) -> timedelta:
        return timedelta(seconds=min(max(self.grace_seconds, -1), 10**9))


class RevokedOut(Shape):
    """The key that was revoked."""

    revoked: UUID
