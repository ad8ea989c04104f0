"""Recollect for Python programs."""
