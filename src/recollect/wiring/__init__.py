"""Build a running Recollect from the settings: the only place that chooses adapters.

Shells have two entry points. `open_service` opens the memory of a person or an agent: the local
SQLite store, or a server if one is configured. `open_server` opens what a server serves: Postgres,
its keys, and the use cases for each key. Names are imported on first use, so that a command on the
local store does not import the server.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself takes too long before a hook's time limit is set
if TYPE_CHECKING:
    from recollect.wiring.context import SystemClock, build_context, catalogue, open_reranker
    from recollect.wiring.local import (
        Cached,
        Local,
        find_store_fault,
        key_of,
        open_cached,
        open_local,
        open_remote_graph,
        open_remote_keys,
        open_service,
    )
    from recollect.wiring.local_server import open_local_server
    from recollect.wiring.postgres import open_postgres
    from recollect.wiring.server import Server, open_second_phase, open_server

_MODULES = {
    "Cached": "recollect.wiring.local",
    "Local": "recollect.wiring.local",
    "open_local": "recollect.wiring.local",
    "find_store_fault": "recollect.wiring.local",
    "key_of": "recollect.wiring.local",
    "open_cached": "recollect.wiring.local",
    "open_service": "recollect.wiring.local",
    "open_local_server": "recollect.wiring.local_server",
    "open_remote_graph": "recollect.wiring.local",
    "open_remote_keys": "recollect.wiring.local",
    "SystemClock": "recollect.wiring.context",
    "catalogue": "recollect.wiring.context",
    "open_reranker": "recollect.wiring.context",
    "build_context": "recollect.wiring.context",
    "open_postgres": "recollect.wiring.postgres",
    "Server": "recollect.wiring.server",
    "open_server": "recollect.wiring.server",
    "open_second_phase": "recollect.wiring.server",
}

__all__ = [
    "Cached",
    "Local",
    "Server",
    "SystemClock",
    "build_context",
    "catalogue",
    "find_store_fault",
    "key_of",
    "open_cached",
    "open_local",
    "open_local_server",
    "open_postgres",
    "open_remote_graph",
    "open_remote_keys",
    "open_reranker",
    "open_second_phase",
    "open_server",
    "open_service",
]


if not TYPE_CHECKING:  # a type checker would accept any name
    from recollect.lazy import lazy_getattr

    __getattr__ = lazy_getattr(__name__, _MODULES)
