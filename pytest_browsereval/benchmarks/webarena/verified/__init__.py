"""Comparison as WebArena-Verified does it: typed values, addresses, recorded requests."""
