"""Implementations of the ports: drivers, SQL, HTTP, models."""
