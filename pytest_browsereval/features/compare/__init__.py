"""Two runs task by task, and rules of a gate that rest on it."""
