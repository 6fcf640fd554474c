"""Mind2Web and Online-Mind2Web: tasks on real sites, judged from pictures and actions."""
