"""Runs the migrations on the connection that `migrate.py` passes in."""

from alembic import context
from sqlalchemy import text

# Any fixed number. The transaction that holds this lock is the one that migrates.
_LOCK = 7_305_201_844

connection = context.config.attributes["connection"]
connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
# Not for the lock above: a server may wait long for another one that migrates.
connection.execute(text("set local lock_timeout = '3s'"))
context.configure(
    connection=connection,
    transaction_per_migration=False,
    on_version_apply=context.config.attributes["on_version_apply"],
)
context.run_migrations()
