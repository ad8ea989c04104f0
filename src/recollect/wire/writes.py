"""The answer to a write: the memory as stored, and how its text affected it.

A caller who did not set the sensitivity must learn that the text decided, and why; otherwise a
memory would silently stop being found by meaning.
"""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from recollect.core.memory.memory import Changes, Draft, Memory
from recollect.core.privacy.secrets.detect import describe_secret
from recollect.core.privacy.sensitivity import secret_in_changes, secret_in_draft
from recollect.core.text.secret import Secret
from recollect.wire.answers import MemoryOut
from recollect.wire.values import Shape


class SecretOut(Shape):
    """What a text looks like, and how certain that is, from 0 to 1. Never the text itself."""

    kind: str = Field(examples=["GitHub token"])
    confidence: float

    def __str__(self) -> str:
        return describe_secret(self.kind, self.confidence)


def _is_absent(value: object) -> bool:
    return value is None


def _is_false(value: object) -> bool:
    return value is False


class WrittenOut(MemoryOut):
    """A memory as stored now. `already_remembered` is set if its text was already stored: it is
    that memory, with tags, keywords and links added. `sensitive_because` is set if its text made it
    sensitive; `is_sensitive: false` overrides that.
    """

    already_remembered: bool = Field(default=False, exclude_if=_is_false)
    sensitive_because: SecretOut | None = Field(default=None, exclude_if=_is_absent)

    @classmethod
    def of_draft(cls, memory: Memory, draft: Draft) -> WrittenOut:
        return cls._made(memory, secret_in_draft(draft) if memory.is_sensitive else None)

    @classmethod
    def of_changes(cls, memory: Memory, changes: Changes) -> WrittenOut:
        return cls._made(memory, secret_in_changes(changes) if memory.is_sensitive else None)

    @classmethod
    def _made(cls, memory: Memory, secret: Secret | None) -> WrittenOut:
        because = None
        if secret is not None:
            because = SecretOut(kind=secret.kind, confidence=secret.confidence)
        return cls(
            **dict(MemoryOut.from_memory(memory)),
            already_remembered=memory.was_known,
            sensitive_because=because,
        )

    def to_memory(self) -> Memory:
        return replace(super().to_memory(), was_known=self.already_remembered)
