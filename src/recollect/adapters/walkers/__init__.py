"""Ways to walk the concept graph."""
