"""ST-WebAgentBench: tasks on business apps, each with policies that an agent has to keep."""
