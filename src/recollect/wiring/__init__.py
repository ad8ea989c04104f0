"""From settings to a running Recollect: the only place that chooses adapters.

Shells ask for one of two things. `open_recollect` is a person's or an agent's own memory: the local
SQLite store, or a server's when one is named. `open_server` is what a server serves: Postgres, its
keys, and the use cases for whoever shows one.
"""

from recollect.wiring.own import (
    Cached,
    key_of,
    open_cached,
    open_recollect,
    open_remote_graph,
    open_remote_keys,
)
from recollect.wiring.parts import SystemClock, catalogue, open_reranker, parts_on
from recollect.wiring.postgres import open_postgres
from recollect.wiring.server import Server, open_server, open_walker

__all__ = [
    "Cached",
    "Server",
    "SystemClock",
    "catalogue",
    "key_of",
    "open_cached",
    "open_postgres",
    "open_recollect",
    "open_remote_graph",
    "open_remote_keys",
    "open_reranker",
    "open_server",
    "open_walker",
    "parts_on",
]
