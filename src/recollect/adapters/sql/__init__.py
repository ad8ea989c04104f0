"""Parts of a store whose statements are the same on Postgres and SQLite."""
