"""Ids that any writer can create alone, and the prefixes people type instead.

A UUIDv7 starts with its creation time, so ids of different writers never collide and still sort by
age. The writer of a memory creates its id, which makes a repeated write the same write
(docs/adr/0002).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from recollect.core.errors import AmbiguousId, InvalidInput

# The first 13 characters of a UUIDv7 are its millisecond: enough to distinguish what a person
# stored by hand. Memories of the same millisecond need a longer prefix (`short_ids`).
SHORT_LENGTH = 13
# Each ends before a hyphen; the last is the whole id.
SHORT_LENGTHS = (SHORT_LENGTH, 18, 23, 36)
_HEX_DIGITS = 32
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def uuid7(now: datetime, entropy: bytes) -> UUID:
    """Create the UUIDv7 of a moment; `entropy` is ten random bytes."""
    # Integers throughout: a float of seconds times 1000 can end up in the millisecond before.
    milliseconds = (now - _EPOCH) // timedelta(milliseconds=1)
    random_bits = int.from_bytes(entropy[:10], "big")
    value = (milliseconds & ((1 << 48) - 1)) << 80
    value |= 0x7 << 76
    value |= ((random_bits >> 68) & 0xFFF) << 64
    value |= 0b10 << 62
    value |= random_bits & ((1 << 62) - 1)
    return UUID(int=value)


def check_uuid7(id: UUID) -> None:
    """Raise InvalidInput for an id that is not a UUIDv7: it would not sort by age."""
    if id.version != 7:
        raise InvalidInput(
            f"the id {id} is not a UUIDv7",
            field="id",
            remedy="Use a version 7 UUID, or omit the id and let Recollect create one.",
        )


def short(id: UUID) -> str:
    """Return what people see instead of the full id."""
    return str(id)[:SHORT_LENGTH]


def short_ids(ids: Iterable[UUID], at_least: int = SHORT_LENGTH) -> dict[UUID, str]:
    """Return short ids for a list: all of the same length, long enough to differ."""
    listed = {*ids}
    length = next(
        length
        for length in SHORT_LENGTHS
        if length >= at_least and len({str(id)[:length] for id in listed}) == len(listed)
    )
    return {id: str(id)[:length] for id in listed}


@dataclass(frozen=True, slots=True)
class IdPrefix:
    """All ids with the same beginning, as the closed range that every store can look up by its
    index.
    """

    text: str
    low: UUID
    high: UUID

    @classmethod
    def parse(cls, text: str, shown_by: str = "recollect list") -> IdPrefix:
        digits = _digits(text)
        if digits is None:
            raise InvalidInput(
                f"{text.strip()[:60]!r} is not an id",
                field="id",
                remedy=f"Pass an id that `{shown_by}` shows, or at least its first 4 digits.",
            )
        return cls(
            text=text.strip(),
            low=UUID(digits.ljust(_HEX_DIGITS, "0")),
            high=UUID(digits.ljust(_HEX_DIGITS, "f")),
        )

    def only(self, fitting: Sequence[UUID], what: str) -> UUID | None:
        """Return the only matching id, None if there is none; the error says `what` the ids
        identify.
        """
        if len(fitting) > 1:
            raise AmbiguousId(
                f"{self.text} matches several {what}: {', '.join(map(str, fitting))}",
                field="id",
                remedy="Use more digits of the id.",
            )
        return fitting[0] if fitting else None


def is_id(text: str) -> bool:
    """Whether a text can be an id or a prefix of one."""
    return _digits(text) is not None


def _digits(text: str) -> str | None:
    digits = text.strip().lower().replace("-", "")
    return digits if re.fullmatch(rf"[0-9a-f]{{4,{_HEX_DIGITS}}}", digits) else None
