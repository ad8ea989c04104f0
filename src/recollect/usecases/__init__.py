"""What people and agents can do with their memories: one file a verb."""
