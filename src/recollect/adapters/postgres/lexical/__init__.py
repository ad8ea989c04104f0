"""The lexical leg in Postgres."""
