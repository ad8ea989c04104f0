"""The authoritative store: Postgres, with hand-written SQL next to the code."""
