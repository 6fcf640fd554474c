"""The doctor: tries what a config needs, and looks at its rows."""
