"""What must not be written: the names of secrets."""
