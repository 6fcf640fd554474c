"""What must not be written: which names are those of secrets, what stands for one, how it is taken out."""
