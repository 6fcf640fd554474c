"""The dashboard: the viewer of a running run, served to this machine."""
