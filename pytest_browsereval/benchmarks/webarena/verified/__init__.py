"""How WebArena-Verified compares: typed values, addresses, recorded requests. Its rules, in our own code."""
