"""Export memories to files, and import them."""
