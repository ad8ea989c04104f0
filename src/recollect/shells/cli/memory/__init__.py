"""Commands that store, show, change and move memories."""
