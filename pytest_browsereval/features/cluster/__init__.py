"""What ends the parts of a run on a cluster."""
