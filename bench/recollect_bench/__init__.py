"""The benchmark that every default is decided by."""
