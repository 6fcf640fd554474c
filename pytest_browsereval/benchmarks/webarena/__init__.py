"""WebArena and VisualWebArena: what answers, addresses, pages and pictures have to hold."""
