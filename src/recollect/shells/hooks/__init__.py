"""Agent hooks, run before each prompt, at the start of a session, and when an answer ends."""
