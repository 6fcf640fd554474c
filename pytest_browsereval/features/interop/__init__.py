"""Runs of other systems read into run folders of ours, and ours written in the form of others."""
