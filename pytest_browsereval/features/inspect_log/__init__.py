"""Runs as logs of Inspect: written, and read."""
