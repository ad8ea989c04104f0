"""Vectors in Postgres: spaces, the embedding queue and search."""
