"""Keys, settings and erasure."""
