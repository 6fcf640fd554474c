"""Reads runs of other systems as run folders, and writes run folders in their formats."""
