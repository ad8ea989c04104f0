"""Stores of many memories or many owners: filled in bulk, measured, and extrapolated from."""
