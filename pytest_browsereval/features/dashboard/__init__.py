"""The dashboard: the viewer of a run that goes on, served to this machine."""
