"""Fara's ways of verifying an attempt - by its actions, by a rubric, by its pictures - and their vote."""
