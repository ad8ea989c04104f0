"""Texts that must never leak, and how to detect them.

A canary is one made-up word, so that a search finds it like any other; the detection also covers
the encodings in which text travels.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

BIRD = "zyxcanarywqvbirdkjh"


def canary(name: str) -> str:
    """Return one word that names where it was released."""
    return BIRD + name


def _in_base64(offset: int) -> bytes:
    """Return its base64 after `offset` bytes: the part that does not depend on its neighbours."""
    encoded = base64.b64encode(bytes(offset) + BIRD.encode())
    return encoded[-(-offset * 8 // 6) : (offset + len(BIRD)) * 8 // 6]


_ANY_CASE = (BIRD.encode(), BIRD.encode().hex().encode(), BIRD.encode("utf-16-le"))
_EXACT = tuple(_in_base64(offset) for offset in range(3))


def birds_in(text: bytes | bytearray | str) -> list[bytes]:
    """Return the surroundings of every canary in a text; empty if there is none."""
    seen = text.encode() if isinstance(text, str) else bytes(text)
    places = [seen.lower().find(form) for form in _ANY_CASE]
    places += [seen.find(form) for form in _EXACT]
    return [seen[max(0, at - 60) : at + 80] for at in places if at != -1]


@dataclass
class Aviary:
    """Records the output of every channel until the end of a test."""

    seen: dict[str, bytes] = field(default_factory=dict)

    def record(self, channel: str, text: bytes | bytearray | str) -> None:
        new = text.encode() if isinstance(text, str) else bytes(text)
        self.seen[channel] = self.seen.get(channel, b"") + new

    def check(self) -> None:
        escaped = {
            channel: birds for channel, text in self.seen.items() if (birds := birds_in(text))
        }
        assert not escaped, escaped
