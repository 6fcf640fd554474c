"""WebVoyager: tasks on real sites, judged from pictures."""
