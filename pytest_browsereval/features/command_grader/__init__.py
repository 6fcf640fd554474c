"""A program of the user as a grader."""
