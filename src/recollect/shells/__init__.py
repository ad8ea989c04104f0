"""Thin shells over the use cases: CLI, REST, MCP, hooks, web, worker, client."""
