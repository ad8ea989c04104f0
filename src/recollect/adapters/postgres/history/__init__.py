"""Changes, versions, links and erasure in Postgres."""
