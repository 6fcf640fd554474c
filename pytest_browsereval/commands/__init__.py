"""The subcommands of ``browsereval``, a module for each group; each calls the package's own doors."""
