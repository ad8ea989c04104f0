"""Links, versions, recalls and erasure in SQLite."""
