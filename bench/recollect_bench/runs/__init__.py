"""Run a configuration on a set: what recall answered to each question."""
