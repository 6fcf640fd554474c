"""Reads the record of a run: what its attempts came to."""
