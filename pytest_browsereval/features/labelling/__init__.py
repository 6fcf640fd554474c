"""A local page on which people label the attempts of a run."""
