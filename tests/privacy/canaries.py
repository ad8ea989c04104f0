"""Texts that must never be seen elsewhere, and how to look for them.

A canary is one made-up word, so that it is found by words like any other; whoever looks for it also
looks for the forms in which text travels.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

BIRD = "zyxcanarywqvbirdkjh"


def canary(name: str) -> str:
    """One word that tells where it was let out."""
    return BIRD + name


def _in_base64(offset: int) -> bytes:
    """Its base64 behind so many bytes: the part that does not depend on its neighbours."""
    encoded = base64.b64encode(bytes(offset) + BIRD.encode())
    return encoded[-(-offset * 8 // 6) : (offset + len(BIRD)) * 8 // 6]


_ANY_CASE = (BIRD.encode(), BIRD.encode().hex().encode(), BIRD.encode("utf-16-le"))
_EXACT = tuple(_in_base64(offset) for offset in range(3))


def birds_in(text: bytes | bytearray | str) -> list[bytes]:
    """Where a canary is seen, with a little of what stands around it; empty when it is not."""
    seen = text.encode() if isinstance(text, str) else bytes(text)
    places = [seen.lower().find(form) for form in _ANY_CASE]
    places += [seen.find(form) for form in _EXACT]
    return [seen[max(0, at - 60) : at + 80] for at in places if at != -1]


@dataclass
class Aviary:
    """What was seen at each way out, kept until the end of a test."""

    seen: dict[str, bytes] = field(default_factory=dict)

    def keep(self, way_out: str, text: bytes | bytearray | str) -> None:
        new = text.encode() if isinstance(text, str) else bytes(text)
        self.seen[way_out] = self.seen.get(way_out, b"") + new

    def check(self) -> None:
        escaped = {way: birds for way, text in self.seen.items() if (birds := birds_in(text))}
        assert not escaped, escaped
