"""Files: locks, logs, and formats of other programs."""
