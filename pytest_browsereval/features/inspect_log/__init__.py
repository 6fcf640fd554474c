"""Writes runs as logs of Inspect."""
