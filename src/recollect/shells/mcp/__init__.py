"""MCP: the same tools over stdio, for one person's agent, and over HTTP, for a server's users."""
