"""Memories to files, and back."""
