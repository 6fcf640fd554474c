"""The `orchestrator-executor` agent: one model plans and delegates, another one acts."""
