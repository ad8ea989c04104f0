"""Commands for agents: hooks, install, the memory tool."""
