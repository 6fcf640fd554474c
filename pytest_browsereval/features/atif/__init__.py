"""Writes attempts in the Agent Trajectory Interchange Format (ATIF)."""
