"""Concepts and relations: extraction, resolution and the walk."""
