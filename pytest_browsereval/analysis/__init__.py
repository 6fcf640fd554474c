"""Decides from the run folder."""
