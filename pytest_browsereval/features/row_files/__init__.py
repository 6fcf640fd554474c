"""Rows from files that are read whole."""
