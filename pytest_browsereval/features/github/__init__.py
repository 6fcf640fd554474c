"""GitHub Actions: the job's summary and its annotations."""
