"""A model that calls tools: what agents that talk to one have in common."""
