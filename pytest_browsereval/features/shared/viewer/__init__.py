"""The viewer: a page of a run that opens from a file, without a server, a network or a build."""
