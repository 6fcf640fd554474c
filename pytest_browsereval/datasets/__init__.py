"""Datasets: a family; each reads rows of one format."""
