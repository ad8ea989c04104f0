"""What people and agents can do with their memories: one file per verb."""
