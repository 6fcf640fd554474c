"""pytest's side, one feature a module."""
