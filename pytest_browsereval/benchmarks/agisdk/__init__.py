"""REAL: checks of the final state of a clone of a well-known site."""
