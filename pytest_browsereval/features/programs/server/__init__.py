"""Serves the tools of a running attempt over MCP, to programs of other processes."""
