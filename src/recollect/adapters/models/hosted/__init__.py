"""Calling a model behind a hosted API."""
