"""Features that can be left out, a folder each: its hooks, options, command and page together.

The module ``plugin`` of each folder is a pytest plug-in of its own. It is registered in every pytest run of
the environment, so at its head it imports nothing but the standard library, pytest and ``hooks.names``.
"""
