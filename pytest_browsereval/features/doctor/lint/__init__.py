"""Rules that find stale and broken rows before money is spent on them, a module for each kind of evidence."""
