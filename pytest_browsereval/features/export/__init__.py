"""Finished runs in the forms of other tools."""
