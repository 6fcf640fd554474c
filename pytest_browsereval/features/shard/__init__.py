"""One part of a run, on one of several machines."""
