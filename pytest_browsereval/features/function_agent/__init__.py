"""A function of the user as an agent."""
