"""Whether a database can hold vectors, and what to do when it cannot.

pgvector may not be installed, may be too old, or may need a superuser to enable it. None of that is
an error: recall then works by words, and the note says how to change it. The
embedded Postgres leaves the extension out where it would crash on this processor, so nothing here
may compute with a vector.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

OLDEST: Final = (0, 8)
"""The release that brought iterative scans; without them a filtered search loses rows."""

_ENABLED = "select extversion, to_regtype('halfvec') is not null from pg_extension"
_ENABLED += " where extname = 'vector'"
_INSTALLED = "select 1 from pg_available_extensions where name = 'vector'"


def explain_missing_vectors(connection: psycopg.Connection[tuple[Any, ...]]) -> str:
    """Enable pgvector if need be. Returns why the database cannot hold vectors; "" when it can."""
    if connection.execute(_ENABLED).fetchone() is None:
        if connection.execute(_INSTALLED).fetchone() is None:
            return (
                "pgvector is not installed on this Postgres: install it (Debian and Ubuntu:"
                " postgresql-NN-pgvector, NN being the major version) and restart Recollect"
            )
        try:
            connection.execute("create extension if not exists vector")
        except psycopg.errors.InsufficientPrivilege:
            return (
                "pgvector is not enabled in this database: let a superuser run"
                " `create extension vector` in it and restart Recollect (on the embedded"
                " Postgres `recollect doctor` says why it is left out)"
            )
        except psycopg.errors.UniqueViolation:
            pass  # another server enabled it at the same moment
    return _explain_unfit(connection.execute(_ENABLED).fetchone())


def _explain_unfit(enabled: tuple[str, bool] | None) -> str:
    version, has_type = enabled or ("", False)
    if version and tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        return (
            f"pgvector {version} is too old: install 0.8 or newer, let a superuser run"
            " `alter extension vector update` in this database, and restart Recollect"
        )
    if not has_type:
        return (
            "pgvector is enabled in a schema that this role does not search: add that schema to"
            " the role's search_path and restart Recollect"
        )
    return ""
