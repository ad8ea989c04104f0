"""One Postgres, emptied before each test, for the many small tests of this folder."""

from tests.conformance.databases import emptied_database_url, shared_database_url

__all__ = ["emptied_database_url", "shared_database_url"]
