"""AssistantBench: how close an answer is to the reference."""
