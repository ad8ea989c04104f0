"""Build, view and edit the concept graph."""
