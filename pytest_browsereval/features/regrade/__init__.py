"""Stored attempts of a run, graded again."""
