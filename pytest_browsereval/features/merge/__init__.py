"""Shards of an eval as one run."""
