"""The `command` agent: a program of others is started, given tools, read and ended."""
