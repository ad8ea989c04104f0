"""The client's side of sync in SQLite."""
