"""Agents: a family; each member drives the window its own way."""
