"""What every shell that speaks HTTP shares: problems, keys, the Host check, limits, the log.

Plain ASGI, so that the REST API, the page and MCP stand behind the same guards in one process.
"""
