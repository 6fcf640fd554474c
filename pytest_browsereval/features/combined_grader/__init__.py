"""Several graders as one."""
