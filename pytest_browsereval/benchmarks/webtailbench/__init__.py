"""WebTailBench: tasks of the long tail, with rubrics."""
