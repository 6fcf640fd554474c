"""Tools of an agent in its window, and the contract of every tool's output."""
