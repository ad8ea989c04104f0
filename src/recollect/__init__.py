"""Recollect: a long-term memory for AI agents whose recall is measured, not asserted."""

__version__ = "0.1.0"
