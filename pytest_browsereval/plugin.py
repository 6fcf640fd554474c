"""The ``pytest11`` entry point: options; loads ``hooks/`` only when an eval is asked for."""
