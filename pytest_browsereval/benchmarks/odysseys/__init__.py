"""Odysseys: long tasks over several sites, graded by rubrics."""
