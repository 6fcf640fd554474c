"""All runs of a results folder: a history with a line for each, a list and a page."""
