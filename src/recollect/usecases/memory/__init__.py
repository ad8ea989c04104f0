"""Store, read, change and remove memories."""
