"""The lexical leg in SQLite."""
