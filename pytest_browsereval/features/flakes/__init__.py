"""Tasks whose verdict differs from run to run."""
