"""GAIA: short answers, compared as the benchmark compares them."""
