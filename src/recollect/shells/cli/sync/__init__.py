"""Commands on sync and its conflicts."""
