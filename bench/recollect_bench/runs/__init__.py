"""From a set and a configuration to a run: what recall answered to each question."""
