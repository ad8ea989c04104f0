"""The SQLite schema."""
