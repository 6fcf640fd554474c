"""What the ``command`` agent is made of: programs of others, started, equipped, read and ended."""
