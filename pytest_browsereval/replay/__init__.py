"""Model calls and web traffic of attempts: recorded in cassettes, and replayed from there."""
