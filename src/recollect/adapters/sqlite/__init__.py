"""The local store: one SQLite file with FTS5, no server and no network."""
