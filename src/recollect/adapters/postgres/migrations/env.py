"""Runs the migrations on the connection that `migrate.py` passes in."""

from alembic import context
from sqlalchemy import text

# Any fixed number. The transaction that holds this lock is the one that migrates.
_LOCK = 7_305_201_844

connection = context.config.attributes["connection"]
connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
context.configure(connection=connection, transaction_per_migration=False)
context.run_migrations()
