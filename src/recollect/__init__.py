"""Recollect: a long-term memory for AI agents whose recall is measured, not asserted.

The public names are imported on first use: the hooks, which run before every prompt, import this
package too and must not pay for them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself takes too long before a hook's watchdog runs
if TYPE_CHECKING:
    from recollect.core.errors import (
        Conflict,
        InvalidInput,
        NotAllowed,
        NotFound,
        RecollectError,
        StoreError,
    )
    from recollect.core.memory.batch import Remembered
    from recollect.core.memory.memory import Draft, Memory, Scope
    from recollect.core.recall.request import Hit, Recollection
    from recollect.shells.client.asynchronous import AsyncClient
    from recollect.shells.client.blocking import Client, MemoryTool

__version__ = "0.1.0"

_MODULES = {
    "AsyncClient": "recollect.shells.client.asynchronous",
    "Client": "recollect.shells.client.blocking",
    "MemoryTool": "recollect.shells.client.blocking",
    "Conflict": "recollect.core.errors",
    "InvalidInput": "recollect.core.errors",
    "NotAllowed": "recollect.core.errors",
    "NotFound": "recollect.core.errors",
    "RecollectError": "recollect.core.errors",
    "StoreError": "recollect.core.errors",
    "Draft": "recollect.core.memory.memory",
    "Memory": "recollect.core.memory.memory",
    "Scope": "recollect.core.memory.memory",
    "Hit": "recollect.core.recall.request",
    "Recollection": "recollect.core.recall.request",
    "Remembered": "recollect.core.memory.batch",
}

__all__ = [
    "AsyncClient",
    "Client",
    "Conflict",
    "Draft",
    "Hit",
    "InvalidInput",
    "Memory",
    "MemoryTool",
    "NotAllowed",
    "NotFound",
    "RecollectError",
    "Recollection",
    "Remembered",
    "Scope",
    "StoreError",
    "__version__",
]


if not TYPE_CHECKING:  # with this, a type checker would accept any name

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
