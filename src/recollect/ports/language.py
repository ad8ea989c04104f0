"""What the use cases need from a language model that answers one question at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class AskedModel(Protocol):
    """`name` is the model's name, for people. `is_here`: no text leaves this machine."""

    @property
    def name(self) -> str: ...

    @property
    def is_here(self) -> bool: ...

    async def ask(self, task: str, text: str, *, schema: Mapping[str, object] | None = None) -> str:
        """Return the model's answer, following a JSON schema if it can; ModelUnavailable if there
        is none in time.
        """
