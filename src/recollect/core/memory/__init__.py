"""The stored unit: its fields, links, ids, owner and project."""
