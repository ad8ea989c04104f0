"""Ids that any writer can create alone, and the short ids people type instead.

A UUIDv7 starts with its creation time, so ids of different writers never collide and still sort by
age. The writer of a memory creates its id, which makes a repeated write the same write
(docs/adr/0002).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from recollect.core.errors import AmbiguousId, InvalidInput

# A short id is the end of an id: in a UUIDv7 that is random, while the beginning is the time, which
# memories stored one after the other share. Four characters are enough in a small store.
SHORTEST = 4
# The last group, after the last hyphen.
LONGEST_ENDING = 12
# Where the other ids of the store are not known.
_SHORT_LENGTH = 8
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
    """Return what people see instead of the full id; that two in a store share it is unlikely."""
    return str(id)[-_SHORT_LENGTH:]


def short_ids(
    ids: Iterable[UUID], others: Collection[UUID] = (), at_least: int = SHORTEST
) -> dict[UUID, str]:
    """Return short ids for a list: all of the same length, long enough to differ from each other
    and from the `others` that are not in the list.
    """
    listed = {*ids}
    known = listed.union(others)
    for length in range(at_least, LONGEST_ENDING + 1):
        if len({str(id)[-length:] for id in known}) == len(known):
            return {id: str(id)[-length:] for id in listed}
    return {id: str(id) for id in listed}


def ending(id: UUID) -> str:
    """What stores look an id up by, by an index: as much of its end as a short id has at least."""
    return str(id)[-SHORTEST:]


@dataclass(frozen=True, slots=True)
class IdPart:
    """The end or the beginning of an id, or all of it. `low` and `high` are the range of the ids
    that begin so.
    """

    text: str
    digits: str

    @classmethod
    def parse(cls, text: str, shown_by: str = "recollect list") -> IdPart:
        digits = _digits(text)
        if digits is None:
            raise InvalidInput(
                f"{text.strip()[:60]!r} is not an id",
                field="id",
                remedy=f"Pass an id that `{shown_by}` shows: at least 4 digits of its end.",
            )
        return cls(text.strip(), digits)

    @property
    def low(self) -> UUID:
        return UUID(self.digits.ljust(_HEX_DIGITS, "0"))

    @property
    def high(self) -> UUID:
        return UUID(self.digits.ljust(_HEX_DIGITS, "f"))

    def select(self, ids: Iterable[UUID]) -> list[UUID]:
        """The ids that end so, as the short ones do; if there are none, those that begin so."""
        listed = [*ids]
        return [id for id in listed if id.hex.endswith(self.digits)] or [
            id for id in listed if id.hex.startswith(self.digits)
        ]

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
    """Whether a text can be an id or a part of one."""
    return _digits(text) is not None


def _digits(text: str) -> str | None:
    digits = text.strip().lower().replace("-", "")
    return digits if re.fullmatch(rf"[0-9a-f]{{4,{_HEX_DIGITS}}}", digits) else None
