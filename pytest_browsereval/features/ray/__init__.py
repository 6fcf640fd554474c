"""The parts of a run as tasks of Ray."""
