"""Statistics: numbers in, numbers out.

The standard library is enough. Gates need the intervals on every machine, so scipy could
only take the place of what is reported besides; it is the oracle of the tests.
"""
