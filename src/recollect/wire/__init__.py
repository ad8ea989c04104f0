"""The JSON formats that enter and leave a process: one definition for every shell.

The REST API answers with them, the remote client reads them, `--json` prints them and MCP returns
them as structured content. They define what is sent; what is allowed is defined in `core`.
"""
