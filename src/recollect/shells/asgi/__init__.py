"""What all HTTP shells share: three middlewares, problems, files, connections.

Plain ASGI, so that the REST API, the page and MCP share them in one process. A request passes
`Observation`, `Identity` and `RequestLimits`, in this order.
"""
