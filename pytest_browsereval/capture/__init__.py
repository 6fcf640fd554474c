"""Records an attempt while it runs: messages, pictures, errors."""
