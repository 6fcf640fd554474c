"""Model calls and web traffic of trials, recorded in cassettes and replayed from there."""
