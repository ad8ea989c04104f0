"""The JSON shapes that leave and enter a process: one definition for every shell.

The REST API answers with them, the remote client reads them, `--json` prints them and MCP calls
them structured content. They say what is sent; what is allowed is said by `core`.
"""
