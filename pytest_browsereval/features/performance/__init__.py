"""Six weighted axes of how an attempt was done, as BrowserOS reports them."""
