"""What every shell that speaks HTTP shares: three middlewares, problems, files, connections.

Plain ASGI, so that the REST API, the page and MCP have one of each in one process. A request goes
through `Observation`, `Identity` and `RequestLimits`, in this order.
"""
