"""The concept graph in Postgres."""
