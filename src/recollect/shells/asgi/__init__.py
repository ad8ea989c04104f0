"""Shared by every shell that speaks HTTP: problems, keys, the Host check, limits, the log.

Plain ASGI, so that the REST API, the page and MCP use the same guards in one process.
"""
