"""Browsers: a family with one member so far; windows for attempts."""
