"""The config key ``attacks``: rows that run once more while their pages turn against the agent."""
