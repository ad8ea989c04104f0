"""Vectors in SQLite: spaces, the embedding queue and search."""
