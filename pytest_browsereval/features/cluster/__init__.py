"""The parts of a run on a cluster: what starts them, what ends them."""
