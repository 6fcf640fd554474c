"""A model as a judge of an attempt: what graders that ask one have in common."""
