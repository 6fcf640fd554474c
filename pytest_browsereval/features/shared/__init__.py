"""What several features and benchmarks need, and no run by itself. It has no feature of its own."""
