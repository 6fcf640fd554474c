"""WebBench: tasks that read and write on popular sites."""
