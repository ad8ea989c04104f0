"""Qdrant as the engine of the dense leg: a copy of Postgres's vectors that answers searches."""
