"""Graders: a family; each judges a recorded attempt."""
