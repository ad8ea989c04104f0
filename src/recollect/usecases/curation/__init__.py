"""Find memories worth fixing."""
