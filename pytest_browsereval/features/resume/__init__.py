"""Runs that were interrupted, resumed in their folders."""
