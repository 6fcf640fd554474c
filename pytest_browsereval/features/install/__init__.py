"""A browser for evals."""
