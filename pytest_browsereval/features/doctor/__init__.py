"""The doctor: tries what a config needs, and checks its rows."""
