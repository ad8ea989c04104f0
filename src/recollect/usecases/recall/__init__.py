"""The hot path: legs, fusion, ranking, and why."""
