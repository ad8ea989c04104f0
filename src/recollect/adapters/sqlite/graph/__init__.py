"""The concept graph in SQLite."""
