"""The page of a run, with files beside it or alone."""
