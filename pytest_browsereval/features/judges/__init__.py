"""Graders that ask a model how an attempt was done."""
