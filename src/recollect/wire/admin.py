"""What operators see and change: keys, settings, the erasure of an owner."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Final, Literal, NamedTuple, get_type_hints
from uuid import UUID

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from recollect.core.memory.memory import MAX_NAME
from recollect.core.memory.project import Renamed
from recollect.core.privacy.erasure import ErasureReport, Remain
from recollect.core.privacy.keys import ROLES, Key
from recollect.core.recall.settings import (
    LEGAL,
    MAX_SETTINGS_LOG,
    Range,
    RecallSettings,
    SettingChange,
)
from recollect.wire.codec import Codec, codec, listing
from recollect.wire.values import Input, Moment, Name, QueryInt, Shape, Whole

DEFAULT_LOG = 50
_SettingValue = bool | int | float | str
_Name = Annotated[Name, Field(json_schema_extra={"maxLength": MAX_NAME})]


KEY: Final = codec(
    Key,
    "KeyOut",
    """A key, without its text. `last_used_at` is at most a minute late; a `revoked_at` in the
    future is the end of a grace period.
    """,
    without={"digest": b""},
)
KEYS: Final = listing(KEY, "keys", "KeysOut", """All keys of the server, oldest first.""")


class NewKey(NamedTuple):
    """A key and its text."""

    made: Key
    key: str


NEW_KEY: Final = codec(
    NewKey,
    "NewKeyOut",
    """A new key with its text, which is shown only once.""",
    flat=("made",),
    without={"made.digest": b""},
    key={"description": "The key's text; the server stores only a hash of it."},
)


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


class Revoked(NamedTuple):
    """The key that was revoked."""

    revoked: UUID


REVOKED: Final = codec(Revoked, "RevokedOut", """The key that was revoked.""")

SETTINGS: Final = codec(
    RecallSettings,
    "SettingsOut",
    """How recall ranks, starting with the next request.""",
)


class _ServerSettings(Shape):
    """Settings as a server of any version sends them: only this one is required."""

    model_config = ConfigDict(extra="allow")

    lexical_weight: float


# The settings of a server of any version. Unknown ones are ignored, and missing ones get this
# version's default.
SERVER_SETTINGS: Final[Codec[RecallSettings]] = Codec(
    lambda: (_ServerSettings, lambda shape: RecallSettings().with_stored(shape.model_dump()))
)


def _setting(name: str, hint: Any) -> tuple[Any, Any]:  # noqa: ANN401  # types
    """The field of a setting that can be changed. The schema shows no default: what is not set
    stays.
    """
    legal = LEGAL[name]
    limits = {"minimum": legal.low, "maximum": legal.high} if isinstance(legal, Range) else {}
    default = getattr(RecallSettings(), name)
    field = Field(default_factory=lambda: default, json_schema_extra=limits)  # type: ignore[arg-type]  # numbers are JSON
    return Whole if hint is int else hint, field


_SETTINGS: Final[dict[str, Any]] = {
    name: _setting(name, hint) for name, hint in get_type_hints(RecallSettings).items()
}
_Settings: Any = create_model("SettingsIn", __base__=Input, **_SETTINGS)


class SettingsIn(_Settings, Input):  # type: ignore[misc]  # derived
    """The settings to change; others stay as they are."""

    model_config = ConfigDict(
        json_schema_extra={
            "minProperties": 1,
            "examples": [{"lexical_weight": 1.0, "fusion": "convex"}],
        }
    )

    def to_changes(self) -> dict[str, object]:
        return self.model_dump(exclude_unset=True)


SETTING_CHANGE: Final = codec(
    SettingChange,
    "SettingChangeOut",
    """One change. `old` is null if it was the default; `by` is the owner of the key that was used,
    or of the local store; a client of a server can also have "the server" there.
    """,
    old={"type": _SettingValue | None},
    new={"type": _SettingValue},
)
SETTINGS_LOG: Final = listing(
    SETTING_CHANGE,
    "changes",
    "SettingsLogOut",
    """The latest setting changes, newest first.""",
)


class SettingsLogIn(Input):
    """How many entries of the log, as a query parameter."""

    limit: QueryInt = Field(
        default=DEFAULT_LOG, json_schema_extra={"minimum": 1, "maximum": MAX_SETTINGS_LOG}
    )


class RenameIn(Input):
    """A project, and what it is to be called: a `new` name, an `existing` project, or either."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"project": "shop-0a1b2c3d", "name": "github.com/ada/shop"}]
        }
    )

    project: Name
    name: Name
    into: Literal["new", "existing", "any"] = "any"


RENAMED: Final = codec(
    Renamed,
    "RenamedOut",
    """How many memories came along from `project` to `name`.""",
)


class EraseIn(Input):
    """Whose memories to erase: the owner of the key, named to prevent mistakes."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"owner": "ada"}]})

    owner: Name


def _read_erasure(found: Any, values: dict[str, Any]) -> ErasureReport:  # noqa: ANN401  # its shape
    remain = Remain("the server's database", "ids, texts or words", 1)
    return ErasureReport(**{**values, "remains": (remain,) if found.remains else ()})


ERASED: Final = codec(
    ErasureReport,
    "ErasedOut",
    """How much was erased; `notified`: ids kept until synced clients know; `keys` of the owner that
    still work; which places were `searched`, and whether anything `remains` there. `unsearched`:
    where bytes remain although no query finds them, and what the operator can do about it.
    """,
    flat=("erased",),
    read=_read_erasure,
    remains={"type": Annotated[bool, BeforeValidator(bool)]},
)
