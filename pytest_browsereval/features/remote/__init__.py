"""Runs at a URL: in a bucket of S3, Google Cloud Storage or Azure, or in another folder."""
