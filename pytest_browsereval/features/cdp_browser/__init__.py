"""The `cdp` browser: one that runs already, driven over the DevTools protocol."""
