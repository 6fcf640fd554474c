"""The closed vocabulary: what is read, what is recorded, what is judged."""
