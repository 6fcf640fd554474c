"""The ``mcp`` browser: one behind a server of the Model Context Protocol, driven by its own tools."""
