"""The concept graph as people view and edit it."""
