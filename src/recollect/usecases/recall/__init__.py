"""The hot path: legs, fusion and ranking; and `why`, which explains a result."""
