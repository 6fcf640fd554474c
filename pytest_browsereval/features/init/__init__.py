"""A first eval for a new user: files that run at once, to be changed."""
