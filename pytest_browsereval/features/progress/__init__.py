"""How far an attempt came: checks and milestones asked after every step."""
