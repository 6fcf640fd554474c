"""Attacks: each puts its payload in the agent's way by one channel."""
