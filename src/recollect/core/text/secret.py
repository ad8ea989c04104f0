"""A credential found in a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a credential is in a text, `text[start:end]`, and its kind."""

    kind: str
    start: int
    end: int
    confidence: float

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end
