"""Makes the run folder."""
