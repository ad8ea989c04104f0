"""Models that read a query and a memory together and score how well they match."""
