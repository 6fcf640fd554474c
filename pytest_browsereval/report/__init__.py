"""Draws the run folder."""
