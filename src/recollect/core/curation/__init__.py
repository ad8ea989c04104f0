"""Rules that find memories worth fixing."""
