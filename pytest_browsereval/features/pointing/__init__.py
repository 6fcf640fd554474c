"""Agents that point at pictures: actions, their spellings, geometry, pictures, the HTTP service."""
