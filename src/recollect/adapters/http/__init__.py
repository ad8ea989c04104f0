"""Clients for a remote Recollect server."""
