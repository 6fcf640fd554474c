"""Finished runs as tables: Parquet, CSV, JSON Lines, and pyarrow's own."""
