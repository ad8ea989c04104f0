"""Errors as RFC 9457 problem details: the one table from an error's class to its status.

`type` identifies the kind, so that a client can raise the same error as the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from pydantic import Field

from recollect.core.admin.value_kinds import wrong_kind
from recollect.core.errors import (
    AmbiguousId,
    Conflict,
    Forbidden,
    InvalidInput,
    ModelBusy,
    ModelSlow,
    ModelUnavailable,
    NotAllowed,
    NotFound,
    Overloaded,
    RateLimited,
    RecollectError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from recollect.wire.values import Shape

URN: Final = "urn:recollect:problem:"


@dataclass(frozen=True, slots=True)
class Kind:
    """How one class of errors is reported over HTTP."""

    name: str
    status: HTTPStatus
    title: str

    @property
    def type(self) -> str:
        return URN + self.name


KINDS: Final[dict[type[RecollectError], Kind]] = {
    InvalidInput: Kind("invalid-input", HTTPStatus(422), "Invalid input"),
    AmbiguousId: Kind("ambiguous-id", HTTPStatus.CONFLICT, "The id matches several memories"),
    NotFound: Kind("not-found", HTTPStatus.NOT_FOUND, "Not found"),
    Conflict: Kind("conflict", HTTPStatus.CONFLICT, "Changed since, or the id is taken"),
    NotAllowed: Kind("not-allowed", HTTPStatus.UNAUTHORIZED, "A valid key is required"),
    Forbidden: Kind("forbidden", HTTPStatus.FORBIDDEN, "This key lacks permission"),
    ModelUnavailable: Kind(
        "model-unavailable", HTTPStatus.SERVICE_UNAVAILABLE, "The model cannot be used"
    ),
    ModelBusy: Kind("model-busy", HTTPStatus.SERVICE_UNAVAILABLE, "The model is busy"),
    ModelSlow: Kind(
        "model-slow", HTTPStatus.SERVICE_UNAVAILABLE, "The model did not answer in time"
    ),
    StoreError: Kind("store-error", HTTPStatus.SERVICE_UNAVAILABLE, "The store failed"),
    StoreUnavailable: Kind(
        "store-unavailable", HTTPStatus.SERVICE_UNAVAILABLE, "The store cannot be reached"
    ),
    StoreBusy: Kind("store-busy", HTTPStatus.SERVICE_UNAVAILABLE, "The store is busy"),
    Overloaded: Kind("overloaded", HTTPStatus.SERVICE_UNAVAILABLE, "The server is overloaded"),
    RateLimited: Kind("rate-limited", HTTPStatus.TOO_MANY_REQUESTS, "Too many requests"),
    StoreReadOnly: Kind(
        "store-read-only", HTTPStatus.SERVICE_UNAVAILABLE, "The store cannot be written"
    ),
    StoreFull: Kind("store-full", HTTPStatus.SERVICE_UNAVAILABLE, "The store has no room left"),
}
_OWN_PREFIX: Final = "Value error, "
_CLASSES: Final = {kind.type: cls for cls, kind in KINDS.items()}


class Problem(Shape):
    """What went wrong (`detail`) and what to do next (`remedy`)."""

    type: str = Field(examples=[KINDS[InvalidInput].type])
    title: str = Field(examples=[KINDS[InvalidInput].title])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["importance 7.0 is outside 0..1"])
    remedy: str = Field(examples=["Give a number from 0 (trivial) to 1 (vital)."])
    field: str | None = Field(default=None, examples=["importance"])

    @classmethod
    def from_error(cls, error: RecollectError) -> Problem:
        """The problem for the nearest class in the table: subclasses may be added later."""
        kind = next(KINDS[cls_] for cls_ in type(error).__mro__ if cls_ in KINDS)
        return cls(
            type=kind.type,
            title=kind.title,
            status=kind.status,
            detail=str(error),
            remedy=error.remedy,
            field=error.field if isinstance(error, InvalidInput) else None,
        )

    def to_error(self) -> RecollectError:
        """The error as the other side raised it; an unknown kind is chosen by its status."""
        unknown = InvalidInput if self.status < HTTPStatus.INTERNAL_SERVER_ERROR else StoreError
        cls = _CLASSES.get(self.type, unknown)
        if issubclass(cls, InvalidInput):
            return cls(self.detail, field=self.field or "request", remedy=self.remedy)
        return cls(self.detail, remedy=self.remedy)


def refusal(mistake: Mapping[str, Any], path: Sequence[object], *, see: str = "") -> InvalidInput:
    """Translate one of pydantic's errors. `path` leads to the value; `see` says where valid input
    is described. The value itself is left out: it may be a secret.
    """
    # Pydantic also names its own steps, such as `[key]` or `function-before[…]`.
    steps = [str(step) for step in path if "[" not in str(step)]
    names = [step for step in steps if not step.isdecimal()]
    see = f" {see}" if see else ""
    field, name = ".".join(steps), names[-1] if names else ""
    kind = mistake["type"]
    if kind == "missing":
        return InvalidInput(f"{field} is missing", field=field, remedy=f"Add it.{see}")
    if kind == "extra_forbidden":
        return InvalidInput(f"unknown field {field[:60]!r}", field=field, remedy=f"Remove it.{see}")
    if kind == "literal_error":
        expected = str(mistake.get("ctx", {}).get("expected", "")).replace("'", "")
        return InvalidInput(
            f"{field} has an invalid value",
            field=field,
            remedy=f"Choose one of: {expected}." if expected else f"Use a valid value.{see}",
        )
    # For an entry of a list, the message describes the whole list.
    refused = wrong_kind(".".join(steps[: steps.index(name) + 1]) if name else field, name)
    # Messages of our own validators need no translation.
    text = (
        f"{field} {mistake['msg'].removeprefix(_OWN_PREFIX)}" if kind == "value_error" else refused
    )
    return InvalidInput(str(text), field=field, remedy=f"{refused.remedy}{see}")
