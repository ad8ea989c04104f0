"""The authoritative store: Postgres, with SQL written by hand and kept beside it."""
