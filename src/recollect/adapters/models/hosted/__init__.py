"""Asking a model that runs behind somebody's API, whatever it is asked for."""
