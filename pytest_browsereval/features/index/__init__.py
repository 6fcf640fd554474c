"""The index of a run, made again from its records."""
