"""Models that read a query and a memory together and say how well they fit."""
