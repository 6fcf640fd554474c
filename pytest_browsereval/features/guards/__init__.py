"""Guards: defences that are asked before each tool call and before an answer."""
