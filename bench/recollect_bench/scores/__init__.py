"""Scores of runs: how good each answer is, and which differences are significant."""
