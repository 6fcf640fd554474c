"""Trials in rounds: each task is repeated only while the gate or a comparison of variants is undecided."""
