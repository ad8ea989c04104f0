"""Run a coroutine without an event loop: `asyncio` takes too long to import for a hook."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_directly(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never suspends: it ends at its first step."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine that waits needs an event loop")
