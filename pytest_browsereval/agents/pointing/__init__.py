"""What agents that point at pictures share: actions, spellings, geometry, pictures, the HTTP service."""
