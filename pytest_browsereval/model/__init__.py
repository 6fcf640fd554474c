"""The vocabulary on disk: tasks, messages, results, grades, usage."""
