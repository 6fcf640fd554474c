"""WebArena-Infinity: verifiers of generated apps, run on the state that was recorded."""
