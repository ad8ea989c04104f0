"""Build a running Recollect from the settings: the only place that chooses adapters.

Shells have two entry points. `local.open_service` opens the memory of a person or an agent: the
local SQLite store, or a server if one is configured. `server.open_server` opens what a server
serves: Postgres, its keys, and the use cases for each key. They are imported from their modules, so
that a command on the local store does not import the server.
"""
