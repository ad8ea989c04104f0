"""The answer to whoever wrote: the memory as it is now, and what its text did to it.

A caller who said nothing about sensitivity must learn that the text decided, and why; otherwise a
memory would quietly stop being found by meaning.
"""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from recollect.core.memory.memory import Changes, Draft, Memory
from recollect.core.privacy.secrets.detect import Secret, told
from recollect.core.privacy.sensitivity import secret_in_changes, secret_in_draft
from recollect.wire.answers import MemoryOut
from recollect.wire.values import Shape


class SecretOut(Shape):
    """What a text looks like, and how sure that is, from 0 to 1. Never the text itself."""

    kind: str = Field(examples=["GitHub token"])
    confidence: float

    def __str__(self) -> str:
        return told(self.kind, self.confidence)


def _is_absent(value: object) -> bool:
    return value is None


def _is_false(value: object) -> bool:
    return value is False


class WrittenOut(MemoryOut):
    """A memory as it is stored now. `already_remembered` is there when its text was stored before:
    it is that memory, to which tags, keywords and links were added. `sensitive_because` is there
    when nobody said whether it is sensitive and its text decided; `is_sensitive: false` overrules
    that.
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
        known = {name: getattr(self, name) for name in MemoryOut.model_fields}
        memory = MemoryOut.model_construct(**known).to_memory()
        return replace(memory, was_known=self.already_remembered)
