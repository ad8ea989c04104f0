"""Measurements of latency and cost, and how they grow."""
