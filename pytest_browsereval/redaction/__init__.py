"""Redaction of secrets: their names, the mark that replaces them, and the functions that do it."""
