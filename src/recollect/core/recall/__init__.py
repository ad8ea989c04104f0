"""Requests, legs, fusion, ranking and explanations."""
