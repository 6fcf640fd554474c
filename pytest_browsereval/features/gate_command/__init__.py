"""A gate, decided again from a run's folder."""
