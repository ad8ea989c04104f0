"""Commands on the concept graph."""
