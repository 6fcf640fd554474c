"""Published benchmarks, a folder each: its dataset, its grader and its rules. Nothing imports them."""
