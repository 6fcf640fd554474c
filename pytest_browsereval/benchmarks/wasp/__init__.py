"""WASP: tasks on self-hosted GitLab and Reddit, and prompt injections with what the attacker wants."""
