"""What a run was made of."""
