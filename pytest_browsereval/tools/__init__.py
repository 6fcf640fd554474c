"""What an agent can do in its window, and the contract of every tool's output."""
