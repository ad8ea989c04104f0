"""Keep a local store and a server in sync."""
