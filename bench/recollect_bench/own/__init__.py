"""A user's own memories as an evaluation set."""
